// console_event PID c|break: what the console of a process sends it when a user types Ctrl-C or Ctrl-Break there. Another
// program can send it only from the same console, and a process has one console.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

// The event reaches every program of the console, this one too.
static BOOL WINAPI survive(DWORD event) {
    (void)event;
    return TRUE;
}

static int failed(const char *what) {
    fprintf(stderr, "console_event: %s failed with error %lu\n", what, GetLastError());
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: console_event PID c|break\n");
        return 2;
    }
    FreeConsole(); // It fails if there is none.
    if (!AttachConsole(strtoul(argv[1], NULL, 10))) return failed("AttachConsole");
    if (!SetConsoleCtrlHandler(survive, TRUE)) return failed("SetConsoleCtrlHandler");
    DWORD event = strcmp(argv[2], "c") == 0 ? CTRL_C_EVENT : CTRL_BREAK_EVENT;
    if (!GenerateConsoleCtrlEvent(event, 0)) return failed("GenerateConsoleCtrlEvent");
    return 0;
}
