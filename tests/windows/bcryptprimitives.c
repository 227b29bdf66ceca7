// Wine 8 has no bcryptprimitives.dll, which programs made with Rust load for random numbers. This one is put beside the
// programs of the tests, and beside no other program.
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T length) {
    return RtlGenRandom(bytes, (ULONG)length);
}
