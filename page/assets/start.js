// A page with a finished run has its data in it; without, it is the live page of a server.

const data = find("data").textContent.trim();
if (data) startFinished(JSON.parse(data));
else startLive();
