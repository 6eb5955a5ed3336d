/**
 * Every error that users can see: a stable code, its meaning and what to do.
 *
 * The reference page `docs/reference/errors.md` is generated from this table, and a test keeps the two equal. A code is never
 * reused for another meaning.
 */
export interface CatalogueEntry {
  /** What happened. */
  readonly meaning: string
  /** What the reader can do about it. */
  readonly hint: string
  /** The code that this error had in the previous minor version. HTTP error bodies carry it as `former_code`. */
  readonly formerCode?: string
}

export const errorCatalogue = {
  'config/unreadable': {
    meaning: 'The configuration file cannot be read or is not valid YAML.',
    hint: 'Open the file at the line named, correct it and run `hermes config check`.',
  },
  'config/unwritable': {
    meaning: 'The configuration file cannot be changed.',
    hint: 'Make config.yaml writable for your user, or change the value there by hand.',
  },
  'config/invalid': {
    meaning: 'The configuration contains invalid values.',
    hint: 'Each line names the file, line and column. Correct the values and run `hermes config check`.',
  },
  'config/changed': {
    meaning: 'The configuration was changed since it was read. Nothing was written.',
    hint: 'Read the settings again, look at what changed, and repeat your change.',
  },
  'config/no-model': {
    meaning: 'A model provider is configured, but a required setting is missing.',
    hint: 'Set `model` and the key of the provider (for example OPENAI_API_KEY) in config.yaml or .env.',
  },
  'auth/unusable': {
    meaning: 'The file of stored keys (auth.json) cannot be read or written, or is not in the form of Hermes.',
    hint: 'Correct the file, or move it away and add the keys again with `hermes auth add`.',
  },
  'home/unusable': {
    meaning: 'The home directory cannot be created or written.',
    hint: 'Check the owner and the permissions of HERMES_HOME (default ~/.hermes). You must own it and be able to write to it.',
  },
  'home/locked': {
    meaning: 'Another process already uses this home directory.',
    hint: 'Stop the other gateway, or set HERMES_HOME to another directory.',
  },
  'store/newer-schema': {
    meaning: 'The database was written by a newer version of hermes-gateway.',
    hint: 'Run the newer version, or stop the gateway and replace state.db by state.db.bak, the copy before the upgrade.',
  },
  'store/foreign': {
    meaning: 'The database in this home was written by Hermes Agent, not by hermes-gateway. Nothing was changed.',
    hint: 'Take it over into a home of its own: `HERMES_HOME=<new folder> hermes import hermes <this home>`, or `hermes setup`.',
  },
  'store/corrupt': {
    meaning: 'The database file is damaged or is not a database.',
    hint: 'Stop the gateway, rename state.db and restore a backup. `hermes doctor` shows the damage.',
  },
  'store/locked': {
    meaning: 'The database is locked by another process.',
    hint: 'Close the program that writes to state.db, then try again.',
  },
  'store/full': {
    meaning: 'The disk is full. Nothing was written.',
    hint: 'Free disk space. Platforms deliver unaccepted messages again.',
  },
  'store/unavailable': {
    meaning: 'The database cannot be opened. Nothing was written.',
    hint: 'Check the permissions of the home and the limit of open files (`ulimit -n`).',
  },
  'store/replaced': {
    meaning:
      'The database or the lock file was removed or replaced while the gateway was running. Nothing was written.',
    hint: 'Restart the gateway. Platforms deliver unaccepted messages again.',
  },
  'store/failed': {
    meaning: 'A database operation failed.',
    hint: 'See the cause in the log. `hermes doctor` checks the database.',
  },
  'store/too-many-reads': {
    meaning: 'Too many people list or search conversations at the same time.',
    hint: 'Try again in a moment.',
  },
  'store/fenced': {
    meaning: 'A newer turn of the same session has started, so the write of this turn was rejected.',
    hint: 'No action is needed. The newer turn replies.',
  },
  'pairing/files-unusable': {
    meaning: 'A file of the pairing store cannot be read or written. No user was admitted.',
    hint: 'The gateway must own `pairing` and `platforms/pairing` in its home, and be able to write to them. Then try again.',
  },
  'pairing/rejected': {
    meaning: 'The code belongs to no request, or no code is accepted now.',
    hint: 'Compare the code with the message. It is valid for one hour; after ten minutes a person can ask for a new one. `hermes pairing list` shows the requests.',
  },
  'pairing/not-paired': {
    meaning: 'There is no such person or platform in the pairing store.',
    hint: '`hermes pairing list` shows the people and their platforms.',
  },
  'pairing/listed': {
    meaning: 'The person is on an allow list that the gateway cannot edit, so the access was not revoked.',
    hint: 'Remove the user id from the setting named, then revoke again.',
  },
  'media/too-large': {
    meaning: 'The file is larger than allowed.',
    hint: 'Send a smaller file, or raise `media.max_mb`.',
  },
  'media/picture-refused': {
    meaning: 'Models cannot look at the picture.',
    hint: 'The message says why. Send a picture as PNG, JPEG, GIF or WebP with at most 5 MB and 8,000 × 8,000 pixels.',
  },
  'media/picture-too-large': {
    meaning: 'The picture is larger than models accept.',
    hint: 'Send a picture with at most 5 MB and 8,000 × 8,000 pixels.',
  },
  'media/too-many': {
    meaning: 'The message has more files than allowed.',
    hint: 'Send the other files with another message.',
  },
  'media/upload-gone': {
    meaning: 'The upload does not exist, is not complete, or was removed after a day without a message.',
    hint: 'Upload the file again.',
  },
  'media/uploads-full': {
    meaning: 'Uploaded files that no message has used take all the space that uploads may take.',
    hint: 'Send or remove the files that wait on open pages. Uploads without a message are removed after a day.',
  },
  'media/not-fetched': {
    meaning: 'The file could not be downloaded.',
    hint: 'Check the address in a browser. Addresses in private networks are not allowed.',
  },
  'http/port-in-use': {
    meaning: 'The HTTP address is already in use.',
    hint: 'Stop the program that uses the port, or set `http.port` (HERMES_HTTP_PORT) to a free port.',
  },
  'http/unauthorised': {
    meaning: 'The request has no valid bearer token.',
    hint: 'Send `Authorization: Bearer <token>`. The token is in gateway.token of the home directory (`hermes web url` prints it).',
  },
  'http/forbidden-host': {
    meaning: 'The Host or Origin header of the request is not allowed.',
    hint: 'Use the URL that the gateway printed, or add the host name to `http.allowed_hosts`, or the origin of another page to `http.allowed_origins`.',
  },
  'http/too-large': {
    meaning: 'The request body is larger than allowed.',
    hint: 'Send a smaller request. The limit is `http.max_body_mb`.',
  },
  'http/bad-request': {
    meaning: 'The request is invalid.',
    hint: 'The message names the field, the expected value and the value found.',
  },
  'http/not-found': {
    meaning: 'The path does not exist.',
    hint: 'Check the path. docs/reference/http.md lists all paths.',
  },
  'http/method-not-allowed': {
    meaning: 'The path does not support this method.',
    hint: 'The Allow header and the message list the supported methods.',
  },
  'http/timeout': {
    meaning: 'The request was not received in time.',
    hint: 'Send the headers and the body without long delays.',
  },
  'http/internal': {
    meaning: 'The gateway could not handle the request.',
    hint: 'The log names the route and the cause.',
  },
  'http/cannot-listen': {
    meaning: 'The HTTP server cannot listen on its address.',
    hint: 'Check `http.host` and `http.port` (HERMES_HTTP_HOST, HERMES_HTTP_PORT). Ports below 1024 need additional privileges.',
  },
  'http/token-unusable': {
    meaning: 'The bearer token of the gateway is invalid.',
    hint: 'Delete gateway.token in the home directory and restart the gateway to create a new token, or set `http.token`.',
  },
  'http/starting': {
    meaning: 'The gateway is starting or stopping and does not accept work.',
    hint: 'Try again later. /readyz reports when the gateway is ready.',
  },
  'http/busy': {
    meaning: 'Too many large requests are being read.',
    hint: 'Try again later. Requests with the bearer token are always read.',
  },
  'sessions/not-found': {
    meaning: 'There is no such session or message.',
    hint: '`GET /api/sessions` lists the sessions. Encode an id in a path: `encodeURIComponent(id)`.',
  },
  'sessions/busy': {
    meaning: 'A turn of the conversation runs or waits.',
    hint: 'Stop it with /stop, or wait for its end, and try again.',
  },
  'approvals/not-found': {
    meaning: 'There is no such question.',
    hint: '`GET /api/approvals/pending` lists the questions that wait for an answer.',
  },
  'approvals/answered': {
    meaning: 'The question was answered before.',
    hint: 'Nothing was changed. `GET /api/approvals/pending` lists the questions that still wait.',
  },
  'approvals/expired': {
    meaning: 'The question is no longer open: its time is over, or the turn that asked has ended.',
    hint: 'Nothing was changed. `GET /api/approvals/pending` lists the questions that still wait.',
  },
  'approvals/refused': {
    meaning: 'This question needs the answer of another person.',
    hint: 'An owner other than the person who caused it answers in the chat (`approvals.approver`).',
  },
  'inbox/too-large': {
    meaning: 'The message is larger than the gateway accepts.',
    hint: 'Send the message as a file or in parts. The limit is `inbox.max_message_kb`.',
  },
  'inbox/queue-full': {
    meaning: 'The message was not taken: too many messages of its sender already wait in the conversation.',
    hint: 'Send it again when the earlier ones are answered, or stop them with `/stop`. The limit is `display.busy_queue_limit`.',
  },
  'inbox/refused': {
    meaning: 'The sender is not allowed to use the gateway.',
    hint: 'Add the user id to `allow_from` of the platform (or to its ..._ALLOWED_USERS variable).',
  },
  'inbox/dead-letter': {
    meaning: 'A message is a dead letter because three attempts to process it failed.',
    hint: '`hermes inbox list` shows it; `hermes inbox retry <number>` tries again, `hermes inbox drop <number>` deletes it.',
    formerCode: 'inbox/parked',
  },
  'platform/unknown': {
    meaning: 'No platform with this name is installed.',
    hint: 'Check the name under `platforms:`. `hermes status` lists the installed platforms.',
  },
  'platform/invalid': {
    meaning: 'A platform directory is invalid.',
    hint: 'The message names the file and the expected content.',
  },
  'platform/connect-failed': {
    meaning: 'A platform cannot connect.',
    hint: 'The gateway retries with increasing delays. The message contains the response of the platform.',
  },
  'platform/unauthorised': {
    meaning: 'The platform rejected the credentials.',
    hint: 'Check the token in .env or config.yaml. The gateway connects again when the configuration of the platform changes.',
  },
  'platform/token-in-use': {
    meaning: 'Another gateway is connected with the token of this account.',
    hint: 'Give each profile a bot of its own, or stop the other gateway. The account connects when the token becomes free.',
  },
  'platform/refused': {
    meaning: 'The platform rejects the bot because of its settings there.',
    hint: 'The message names the setting. The gateway connects again when the configuration of the platform changes or after a restart.',
  },
  'provider/auth': {
    meaning: 'The model provider rejected the API key.',
    hint: 'Check the key of the provider: `hermes doctor` names the key that is sent, and `hermes auth list` shows where each one is.',
  },
  'provider/billing': {
    meaning: 'The model provider reports insufficient credit or an exhausted quota.',
    hint: 'Check your account at the provider, then send the message again.',
  },
  'provider/rate-limit': {
    meaning: 'The rate limit of the model provider was exceeded, also by the retries.',
    hint: 'Wait a moment and send the message again.',
  },
  'provider/overloaded': {
    meaning: 'The model provider is overloaded or failing, also for the retries.',
    hint: 'Wait a moment and send the message again.',
  },
  'provider/network': {
    meaning: 'The model provider cannot be reached.',
    hint: 'Check `base_url` and the network, then send the message again.',
  },
  'provider/context': {
    meaning: 'The conversation is longer than the context of the model.',
    hint: 'Start a new conversation with /new.',
  },
  'provider/content-filter': {
    meaning: 'The content filter of the model provider rejected the message.',
    hint: 'Write it differently, or without the part that the filter rejects.',
  },
  'provider/invalid-request': {
    meaning: 'The model provider rejected the request as invalid.',
    hint: 'Check `model` and the extra options. The message contains the response of the provider.',
  },
  'provider/bad-response': {
    meaning: 'The model provider returned an unusable response.',
    hint: 'Send the message again. If the error persists, check that `base_url` implements the API of `provider`.',
  },
  'provider/timeout': {
    meaning: 'The model provider sent no output for too long, or did not complete its response in time.',
    hint: 'Send the message again, or increase `agent.model_timeout` or `agent.model_call_timeout`.',
  },
  'agent/tool-failed': {
    meaning: 'A tool failed.',
    hint: 'The model receives the reason and can try another way.',
  },
  'agent/max-iterations': {
    meaning: 'The turn reached its limit of model calls without an answer.',
    hint: 'Send "continue" to go on from here, or increase `max_iterations` in config.yaml.',
  },
  'terminal/no-folder': {
    meaning: 'The working directory of a command does not exist.',
    hint: 'Create the directory, or set `terminal.cwd` to an existing one.',
  },
  'terminal/hidden-folder': {
    meaning: 'A command cannot run in its working directory.',
    hint: 'Add the directory to `terminal.sandbox_write`, or to `terminal.sandbox_read` if commands only read there.',
  },
  'terminal/cannot-start': {
    meaning: 'A command cannot be started.',
    hint: 'The message contains the reason. Check that a shell is installed and that processes may be started.',
  },
  'checkpoints/unavailable': {
    meaning: 'Checkpoints need git, which is not installed.',
    hint: 'Install git for the user of the gateway.',
  },
  'checkpoints/unknown': {
    meaning: 'There is no such checkpoint.',
    hint: '`/rollback` lists those of a conversation, `hermes checkpoints list` all of them.',
  },
  'checkpoints/refused': {
    meaning: 'Files of a checkpoint may not be restored. Nothing was changed.',
    hint: 'Restore the other files one by one: `/rollback <number> <file>`.',
  },
  'checkpoints/failed': {
    meaning: 'Git could not read or write the checkpoints of a folder.',
    hint: 'The message contains the reason. Check the space and the permissions below `checkpoints` in HERMES_HOME.',
  },
  'environment/unreachable': {
    meaning:
      'The environment in which commands run (`terminal.backend`) cannot be reached. Nothing ran, here or there.',
    hint: 'The message contains the reason. `hermes doctor` checks the environment. The next command tries again.',
  },
  'environment/lost': {
    meaning:
      'The connection to the environment in which commands run was lost while a command ran. Its effects are unknown.',
    hint: 'Look at what the command has done before you repeat it. The next command connects again.',
  },
  'environment/no-sandbox': {
    meaning: '`terminal.backend: bwrap` requires bubblewrap, which does not work on this machine. Nothing ran.',
    hint: 'Install bubblewrap (apt-get install bubblewrap), or choose another `terminal.backend`. `hermes doctor` tries it.',
  },
  'environment/no-client': {
    meaning: 'The program that reaches the environment in which commands run is not installed.',
    hint: 'Install it for the user of the gateway, or choose another `terminal.backend`.',
  },
  'environment/engine-too-old': {
    meaning: 'The engine of the containers is too old.',
    hint: 'Update docker or podman, or name another one in `terminal.docker_binary`.',
  },
  'environment/no-image': {
    meaning: 'The image of the container is not on this machine and cannot be fetched.',
    hint: 'Check the name of the image (`terminal.docker_image`, `terminal.singularity_image`) and the network, or fetch it by hand.',
  },
  'environment/container-failed': {
    meaning: 'The container in which commands run cannot be started.',
    hint: 'The message contains the reason of the engine. Check the keys `docker_*` and `container_*` of `terminal`.',
  },
  'environment/ssh-settings': {
    meaning: 'The settings of the ssh connection are invalid.',
    hint: 'Correct `terminal.ssh_host`, `ssh_user`, `ssh_port`, `ssh_key` and `ssh_known_hosts` in config.yaml.',
  },
  'environment/ssh-host-key-changed': {
    meaning: 'The ssh host shows another key than known_hosts contains. Nothing was sent to it.',
    hint: 'Someone may be between you and the host. Only if its administrator confirms the new key, remove the line of known_hosts.',
  },
  'environment/ssh-host-key-unknown': {
    meaning: 'The key of the ssh host is not in known_hosts. Nothing was sent to it.',
    hint: 'Connect once with ssh as the user of the gateway and compare the fingerprint, or set `terminal.ssh_host_keys: accept-new`.',
  },
  'environment/ssh-denied': {
    meaning: 'The ssh host does not accept the key of the gateway.',
    hint: 'Add the public key to ~/.ssh/authorized_keys of the account, or correct `terminal.ssh_user` and `terminal.ssh_key`.',
  },
  'agent/stopped': {
    meaning: 'The turn was stopped.',
    hint: 'Send a message to continue.',
  },
  'hosts/threw': {
    meaning: 'A handler failed.',
    hint: 'The message and the log name the location. The handler is loaded again when its files change.',
  },
  'hosts/timeout': {
    meaning: 'A handler exceeded its time limit and was aborted.',
    hint: 'Reduce its work, increase `timeout_ms`, or observe its `signal`.',
  },
  'hosts/aborted': {
    meaning: 'A handler was aborted because its result was no longer needed.',
    hint: 'No action is needed.',
  },
  'hosts/died': {
    meaning: 'The process of a handler exited while the handler was running.',
    hint: 'The log contains the last output of the process. The process restarts automatically. The interrupted call is not repeated.',
  },
  'hosts/unloadable': {
    meaning: 'A handler cannot be loaded.',
    hint: 'The message names the file and line. The handler is loaded again when its files change.',
  },
  'hosts/unserialisable': {
    meaning: 'The input or the result of a handler cannot be converted to JSON.',
    hint: 'Return only null, strings, numbers, arrays and plain objects.',
  },
  'hosts/unavailable': {
    meaning: 'The process that runs handlers of this language cannot be started.',
    hint: 'Handlers in Python need python3, version 3.9 or later, on the PATH. The message contains the reason.',
  },
  'hosts/garbled': {
    meaning: 'A handler wrote to the pipe that connects its process to the gateway.',
    hint: 'Do not use file descriptors 3 and 4.',
  },
  'hosts/stopped': {
    meaning: 'The process that runs handlers is stopping and accepts no more work.',
    hint: 'No action is needed. The process stops with the gateway, or because a new process replaces it.',
  },
  'hooks/no-target': {
    meaning: 'A hook sends a message to a target that does not exist.',
    hint: 'Write `<platform>` for its home channel, `<platform>:<chat_id>[:<thread_id>]`, or `<platform>:#<channel>`.',
  },
  'delivery/failed': {
    meaning: 'The platform has not taken the message.',
    hint: 'See the reason in the message; `hermes outbox list` shows what can be sent again.',
  },
  'delivery/no-target': {
    meaning: 'There is no such target for a message.',
    hint: 'Write `<platform>` for its home channel, `<platform>:<chat_id>[:<thread_id>]`, `<platform>:#<channel>`, or `local` for a file.',
  },
  'plugins/unloadable': {
    meaning: 'A plugin cannot be loaded.',
    hint: 'Correct what the message names, then run `hermes plugins enable <id>` again, or restart the gateway.',
  },
  'plugins/unloaded': {
    meaning: 'A plugin that was unloaded called the gateway.',
    hint: 'Stop timers and streams of the plugin in `onUnload`.',
  },
  'plugins/invalid-registration': {
    meaning: 'A plugin registered something invalid.',
    hint: 'The message contains the expected form.',
  },
  'plugins/environment-taken': {
    meaning: 'An environment with this name already exists.',
    hint: 'Choose another name for `terminal.backend`.',
  },
  'plugins/tool-taken': {
    meaning: 'A tool with this name already exists.',
    hint: 'Choose another name, or set `override` and allow it with `plugins.entries.<id>.allow_tool_override: true`.',
  },
  'plugins/command-taken': {
    meaning: 'A slash command with this name already exists.',
    hint: 'Choose another name. /commands lists the existing commands.',
  },
  'plugins/daemon-taken': {
    meaning: 'A background daemon with this name already exists.',
    hint: 'Choose another name, for example one that begins with the name of the plugin.',
  },
  'plugins/state-too-large': {
    meaning: 'The state of a plugin would exceed its size limit. Nothing was changed.',
    hint: 'Store less. Use separate files of the plugin for large or many values.',
  },
  'plugins/not-a-platform': {
    meaning: 'Only a plugin of kind platform can register a platform.',
    hint: 'Set `kind: platform` in its plugin.yaml and move its directory to `platforms/`.',
  },
  'plugins/bad-request': {
    meaning: 'A plugin sent an invalid request.',
    hint: 'The message contains the expected form.',
  },
  'plugins/tool-refused': {
    meaning: 'A tool call of a plugin was rejected.',
    hint: 'The message names the reason and the module that rejected it.',
  },
  'plugins/too-deep': {
    meaning: 'A plugin calls itself recursively: its request causes the same request again.',
    hint: 'Check in the middleware whether the call is its own (`session_id` begins with `plugin:`, the `tool_call_id` of a tool with `plugin_`).',
  },
  'plugins/process-gone': {
    meaning: 'The process of a Python plugin is not running.',
    hint: 'The process restarts automatically with increasing delays. A plugin that was disabled after repeated failures is loaded again by `hermes plugins enable <id>`. The log contains the exit reason.',
  },
  'plugins/not-allowed': {
    meaning: 'The configuration does not allow this request of a plugin.',
    hint: 'The message names the key of `plugins.entries` that allows it.',
  },
  'middleware/name-taken': {
    meaning: 'The name of a registration is already in use.',
    hint: 'Choose another name, or remove the first registration.',
  },
  'middleware/bad-registration': {
    meaning: 'The registration is invalid.',
    hint: 'The message contains the reason. The types of registerGuardrail, registerIntercept and the other functions define the expected form.',
  },
  'middleware/scope-closed': {
    meaning: 'The scope has ended and accepts no more registrations.',
    hint: 'Register while the scope is active, or register globally.',
  },
  'middleware/foreign-scope': {
    meaning: 'The object is not a scope of this gateway.',
    hint: 'Pass the object that a callback received as `scope`.',
  },
  'middleware/next-called-twice': {
    meaning: 'A callback called its next_call twice.',
    hint: 'Call next_call once. Use an execution intercept to run a call several times.',
  },
  'middleware/next-revoked': {
    meaning: 'A callback called next or next_call after it had returned.',
    hint: 'Await next or next_call before the callback returns.',
  },
  'middleware/failed': {
    meaning: 'A plugin failed during a model call.',
    hint: 'The message names the plugin. `hermes plugins disable <id>` disables it.',
  },
  'middleware/bad-return': {
    meaning: 'A callback of a managed call returned an invalid value.',
    hint: 'The message names the callback and the expected value.',
  },
  'outbox/dead-letter': {
    meaning: 'A reply is a dead letter: it could not be delivered and is not retried automatically.',
    hint: '`hermes outbox list` shows it with the reason; `hermes outbox retry <number>` tries again.',
    formerCode: 'outbox/dead',
  },
  'service/unavailable': {
    meaning: 'This machine has no service manager that the gateway can use.',
    hint: 'The command works with systemd on Linux and launchd on macOS. Elsewhere, let your own service manager run `hermes gateway run`.',
  },
  'service/failed': {
    meaning: 'The service manager refused a command.',
    hint: 'The message contains its words. `hermes service status` shows what is there; a second try is safe.',
  },
  'service/foreign': {
    meaning: 'Another program has a service of this name. Nothing was changed.',
    hint: 'Remove that service with the program that has installed it (Hermes Agent: its own `gateway uninstall`), or delete the file, and try again.',
  },
  'backup/damaged': {
    meaning: 'The file is not a complete backup of hermes-gateway. Nothing was changed.',
    hint: 'Use another backup. `hermes restore <file> --check` checks one and changes nothing.',
  },
  'backup/newer': {
    meaning: 'The backup was written by a newer version of hermes-gateway. Nothing was changed.',
    hint: 'Install that version or a newer one first.',
  },
  'cli/usage': {
    meaning: 'The command line is invalid.',
    hint: 'Run the command with --help.',
  },
  'cli/no-daemon': {
    meaning: 'No gateway is running with this home directory.',
    hint: 'Start one with `npm start` (or `hermes gateway run`).',
  },
  'cli/daemon-silent': {
    meaning: 'A gateway is running with this home directory but does not respond.',
    hint: 'Wait a moment and try again. logs/gateway.log in the home directory contains its activity. Otherwise kill its process.',
  },
  'cli/incompatible-response': {
    meaning: 'This version cannot read the response of the gateway.',
    hint: 'The gateway may be another version. Restart it and try again.',
  },
  'cli/not-found': {
    meaning: 'The item does not exist.',
    hint: 'The `list` command of the same group shows the existing items.',
  },
  'cli/failed': {
    meaning: 'The command failed.',
    hint: 'The message contains the reason.',
  },
} as const satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof errorCatalogue
