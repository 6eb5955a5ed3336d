/**
 * Every error a person may meet, with a stable code, what it means and what to do next.
 *
 * The reference page `docs/reference/errors.md` is generated from this table and a test keeps the two equal.
 * A code is never reused for another meaning.
 */
export interface CatalogueEntry {
  /** What happened, in plain words. */
  readonly meaning: string
  /** What the reader can do about it. */
  readonly hint: string
  /** The code that this error had in the previous minor version. HTTP error bodies carry it as `former_code`. */
  readonly formerCode?: string
}

export const errorCatalogue = {
  'config/unreadable': {
    meaning: 'The configuration file could not be read or is not YAML.',
    hint: 'Open the file at the line named, mend it, and run `hermes config check`.',
  },
  'config/invalid': {
    meaning: 'The configuration holds values that cannot be used.',
    hint: 'Each line names file, line and column. Mend them and run `hermes config check`.',
  },
  'config/no-model': {
    meaning: 'A model provider is named but something it needs is missing.',
    hint: 'Set `model` and the key of the provider (for example OPENAI_API_KEY) in config.yaml or .env.',
  },
  'home/unusable': {
    meaning: 'The home directory cannot be created or written.',
    hint: 'Check the owner and the rights of HERMES_HOME (default ~/.hermes); it must be yours and writable.',
  },
  'home/locked': {
    meaning: 'Another process already runs turns on this home.',
    hint: 'Stop the other daemon, or choose another home with HERMES_HOME.',
  },
  'store/newer-schema': {
    meaning: 'The database was written by a newer version of hermes-gateway.',
    hint: 'Run that newer version, or restore the backup made before the upgrade.',
  },
  'store/corrupt': {
    meaning: 'The database file is damaged or is not a database.',
    hint: 'Stop the daemon, move state.db aside and restore a backup; `hermes doctor` shows what is wrong.',
  },
  'store/locked': {
    meaning: 'The database is locked by another process.',
    hint: 'Close the program that holds state.db open for writing, then try again.',
  },
  'store/full': {
    meaning: 'The disk is full; nothing was written.',
    hint: 'Free some space. Messages that were not accepted are delivered again by their platform.',
  },
  'store/replaced': {
    meaning: 'The database or the lock of the home was removed or replaced while the daemon runs; nothing was written.',
    hint: 'Restart the daemon. Messages that were not accepted are delivered again by their platform.',
  },
  'store/failed': {
    meaning: 'A database operation failed.',
    hint: 'Look at the cause in the log; `hermes doctor` checks the database.',
  },
  'store/fenced': {
    meaning: 'This turn was overtaken by a newer one of the same session; its write was refused.',
    hint: 'Nothing to do: the newer turn answers.',
  },
  'http/port-in-use': {
    meaning: 'The HTTP address is already in use.',
    hint: 'Stop the program that uses it, or set `http.port` (or HERMES_HTTP_PORT) to a free port.',
  },
  'http/unauthorised': {
    meaning: 'The request carries no valid bearer token.',
    hint: 'Send `Authorization: Bearer <token>`; the token is in gateway.token of the home (`hermes web url` prints it).',
  },
  'http/forbidden-host': {
    meaning: 'The Host or Origin of the request is not one this gateway serves.',
    hint: 'Use the address the gateway printed, or add the name to `http.allowed_hosts`.',
  },
  'http/too-large': {
    meaning: 'The request body is larger than allowed.',
    hint: 'Send less at once; the limit is `http.max_body_mb`.',
  },
  'http/bad-request': {
    meaning: 'The request could not be understood.',
    hint: 'The message names the field, what was expected and what was found.',
  },
  'http/not-found': {
    meaning: 'There is nothing at this address.',
    hint: 'Check the path; docs/reference/http.md lists the addresses.',
  },
  'http/method-not-allowed': {
    meaning: 'This address does not know the method of the request.',
    hint: 'The Allow header and the message name the methods it knows.',
  },
  'http/timeout': {
    meaning: 'The request did not arrive in time.',
    hint: 'Send headers and body without long pauses.',
  },
  'http/internal': {
    meaning: 'The gateway could not handle the request.',
    hint: 'The log names the route and the cause.',
  },
  'http/cannot-listen': {
    meaning: 'The HTTP server could not open its address.',
    hint: 'Check `http.host` and `http.port` (HERMES_HTTP_HOST, HERMES_HTTP_PORT); ports below 1024 need more rights.',
  },
  'http/token-unusable': {
    meaning: 'The bearer token of the gateway cannot be used.',
    hint: 'Delete gateway.token in the home and restart the gateway to get a new one, or set `http.token`.',
  },
  'http/starting': {
    meaning: 'The gateway is starting or stopping and takes no work right now.',
    hint: 'Try again in a moment; /readyz says when it is ready.',
  },
  'http/busy': {
    meaning: 'Too many large requests are being read at the moment.',
    hint: 'Try again in a moment; requests with the bearer token are always read.',
  },
  'inbox/too-large': {
    meaning: 'The message is larger than the gateway accepts.',
    hint: 'Send it as a file or in parts; the limit is `inbox.max_message_kb`.',
  },
  'inbox/refused': {
    meaning: 'The sender is not on an allow list.',
    hint: 'Add the user id to `allow_from` of the platform (or its ..._ALLOWED_USERS variable).',
  },
  'inbox/dead-letter': {
    meaning: 'A message is a dead letter because processing it failed three times.',
    hint: '`hermes inbox list` shows it; `hermes inbox retry <number>` tries again, `hermes inbox drop <number>` deletes it.',
    formerCode: 'inbox/parked',
  },
  'platform/unknown': {
    meaning: 'No platform of this name is installed.',
    hint: 'Check the spelling under `platforms:`; `hermes status` lists those that were found.',
  },
  'platform/invalid': {
    meaning: 'A platform folder could not be used.',
    hint: 'The message names the file and what was expected there.',
  },
  'platform/connect-failed': {
    meaning: 'A platform could not connect.',
    hint: 'The gateway keeps trying with growing pauses; the message says what the platform answered.',
  },
  'platform/unauthorised': {
    meaning: 'The platform refused the credentials.',
    hint: 'Check the token in .env or config.yaml; the platform is tried again when its configuration changes.',
  },
  'platform/refused': {
    meaning: 'The platform does not let the bot work as it is set up there.',
    hint: 'The message names the setting; the platform is tried again when its configuration changes or the gateway restarts.',
  },
  'provider/auth': {
    meaning: 'The model provider refused the key.',
    hint: 'Check the API key in .env or config.yaml (OPENAI_API_KEY, ANTHROPIC_API_KEY or `api_key`).',
  },
  'provider/billing': {
    meaning: 'The model provider reports missing credit or an exhausted quota.',
    hint: 'Check the account of the provider, then send the message again.',
  },
  'provider/rate-limit': {
    meaning: 'The model provider limits the rate and the retries are used up.',
    hint: 'Wait a little and send the message again.',
  },
  'provider/overloaded': {
    meaning: 'The model provider is overloaded or failing and the retries are used up.',
    hint: 'Wait a little and send the message again.',
  },
  'provider/network': {
    meaning: 'The model provider could not be reached.',
    hint: 'Check `base_url` and the network, then send the message again.',
  },
  'provider/context': {
    meaning: 'The conversation is longer than the model can read.',
    hint: 'Start a fresh one with /new.',
  },
  'provider/invalid-request': {
    meaning: 'The model provider did not understand the request.',
    hint: 'Check `model` and extra options; the message repeats what the provider said.',
  },
  'provider/bad-response': {
    meaning: 'The model provider answered something that is not a usable reply.',
    hint: 'Send the message again; if it stays, check that `base_url` speaks the API of `provider`.',
  },
  'provider/timeout': {
    meaning: 'The model provider sent nothing for too long.',
    hint: 'Send the message again, or raise `agent.model_timeout`.',
  },
  'agent/tool-failed': {
    meaning: 'A tool failed.',
    hint: 'The model sees the reason and may try another way.',
  },
  'terminal/no-folder': {
    meaning: 'The folder a command should start in does not exist.',
    hint: 'Create the folder, or set `terminal.cwd` to one that exists.',
  },
  'terminal/cannot-start': {
    meaning: 'A command could not be started.',
    hint: 'The message says why; check that a shell is installed and that processes may be started.',
  },
  'agent/stopped': {
    meaning: 'The turn was stopped.',
    hint: 'Send a message to go on.',
  },
  'hosts/threw': {
    meaning: 'A handler failed.',
    hint: 'The message and the log say where; it is loaded again when its files change.',
  },
  'hosts/timeout': {
    meaning: 'A handler was not done in time and was cut off.',
    hint: 'Let it do less, give it more time (`timeout_ms`), or let it look at its `signal`.',
  },
  'hosts/aborted': {
    meaning: 'A handler was cut off because its result was no longer wanted.',
    hint: 'Nothing to do.',
  },
  'hosts/died': {
    meaning: 'The process of a handler ended while the handler was running.',
    hint: 'The log holds its last words. The process starts again by itself; what was running is not repeated.',
  },
  'hosts/unloadable': {
    meaning: 'A handler cannot be loaded.',
    hint: 'The message names file and line; it is loaded again when its files change.',
  },
  'hosts/unserialisable': {
    meaning: 'What a handler was given or returned cannot be written as JSON.',
    hint: 'Let it return null, text, numbers, lists and plain objects only.',
  },
  'hosts/unavailable': {
    meaning: 'The process that runs handlers of this language cannot be started.',
    hint: 'Handlers in Python need python3, 3.9 or newer, on the PATH; the message says what went wrong.',
  },
  'hosts/garbled': {
    meaning: 'A handler wrote into the pipe through which its process talks to the gateway.',
    hint: 'Let it leave file descriptors 3 and 4 alone.',
  },
  'hosts/stopped': {
    meaning: 'The process that runs handlers is stopping and takes no more work.',
    hint: 'Nothing to do: it stops with the gateway, or for a newer one that takes its place.',
  },
  'hooks/no-target': {
    meaning: 'A hook wants to send a message to a place that is not there.',
    hint: 'Write `<platform>` for its home channel, or `<platform>:<chat_id>[:<thread_id>]`.',
  },
  'plugins/unloadable': {
    meaning: 'A plugin cannot be loaded.',
    hint: 'Mend what the message names, then run `hermes plugins enable <id>` once more, or restart the gateway.',
  },
  'plugins/unloaded': {
    meaning: 'A plugin that is not loaded any more asks for something.',
    hint: 'Let it end its timers and streams in `onUnload`.',
  },
  'plugins/invalid-registration': {
    meaning: 'A plugin registers something that cannot be used.',
    hint: 'The message says what was expected.',
  },
  'plugins/tool-taken': {
    meaning: 'A tool of this name exists already.',
    hint: 'Give it another name, or set `override` and allow it with `plugins.entries.<id>.allow_tool_override: true`.',
  },
  'plugins/command-taken': {
    meaning: 'A slash command of this name exists already.',
    hint: 'Give it another name; /commands lists those that are taken.',
  },
  'plugins/daemon-taken': {
    meaning: 'A plugin registers a background daemon under a name that another one has.',
    hint: 'Give the daemon another name, best one that begins with the name of the plugin.',
  },
  'plugins/state-too-large': {
    meaning: 'A plugin wants to keep more than its state can hold; nothing was changed.',
    hint: 'Keep less: large or many things belong into files of the plugin’s own.',
  },
  'plugins/not-a-platform': {
    meaning: 'Only a plugin of kind platform registers a platform.',
    hint: 'Write `kind: platform` into its plugin.yaml and put its folder into `platforms/`.',
  },
  'plugins/bad-request': {
    meaning: 'A plugin asks for something in a form that cannot be understood.',
    hint: 'The message says what was expected.',
  },
  'plugins/tool-refused': {
    meaning: 'A tool that a plugin wants to run was not run.',
    hint: 'The message says who refused it and why.',
  },
  'plugins/too-deep': {
    meaning: 'A plugin calls itself: what it asks for brings it to ask again.',
    hint: 'Let its middleware look at whether the call is its own (`session_id` begins with `plugin:`, the `tool_call_id` of a tool with `plugin_`).',
  },
  'plugins/process-gone': {
    meaning: 'The process of a plugin in Python does not run.',
    hint: 'It is started again by itself, a little later each time. One that was set aside is loaded again by `hermes plugins enable <id>`; the log says how its process ended.',
  },
  'plugins/not-allowed': {
    meaning: 'A plugin asks for something that the configuration does not allow it.',
    hint: 'The message names the key of `plugins.entries` that would.',
  },
  'middleware/name-taken': {
    meaning: 'Something is already registered under this name.',
    hint: 'Choose another name, or remove the first registration.',
  },
  'middleware/bad-registration': {
    meaning: 'This cannot be registered around managed calls.',
    hint: 'The message says what is wrong; the types of registerGuardrail, registerIntercept and so on say what is expected.',
  },
  'middleware/scope-closed': {
    meaning: 'The scope has ended; nothing can be registered on it any more.',
    hint: 'Register while the work of the scope runs, or on everything.',
  },
  'middleware/foreign-scope': {
    meaning: 'This is not a scope of this gateway.',
    hint: 'Hand on the very object that a callback got as `scope`.',
  },
  'middleware/next-called-twice': {
    meaning: 'A callback called its next_call a second time.',
    hint: 'Call next_call once. What has to run several times is an execution intercept.',
  },
  'middleware/next-revoked': {
    meaning: 'The rest of a call was asked for after the one it was given to had settled.',
    hint: 'Await next or next_call before you return.',
  },
  'middleware/failed': {
    meaning: 'A plugin failed around the call of the model.',
    hint: 'The message names it. `hermes plugins disable <id>` lets the gateway work without it.',
  },
  'middleware/bad-return': {
    meaning: 'A callback around a managed call returned something that cannot be used.',
    hint: 'The message names it and what it should have returned.',
  },
  'outbox/dead-letter': {
    meaning: 'A reply is a dead letter: it could not be delivered and is not retried automatically.',
    hint: '`hermes outbox list` shows it with the reason; `hermes outbox retry <number>` tries again.',
    formerCode: 'outbox/dead',
  },
  'cli/usage': {
    meaning: 'The command line could not be understood.',
    hint: 'Run the command with --help.',
  },
  'cli/no-daemon': {
    meaning: 'No gateway is running on this home.',
    hint: 'Start one with `npm start` (or `hermes gateway run`).',
  },
  'cli/daemon-silent': {
    meaning: 'A gateway runs on this home but does not answer.',
    hint: 'Wait a moment and try again; logs/gateway.log of the home says what it does. Otherwise end its process.',
  },
  'cli/not-found': {
    meaning: 'There is nothing of this name.',
    hint: 'The `list` command next to this one shows what there is.',
  },
  'cli/failed': {
    meaning: 'The command could not do what was asked.',
    hint: 'The message says why.',
  },
} as const satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof errorCatalogue
