/**
 * The command line as people see it in `hermes --help`. Each command imports its own file when it runs.
 */
import type { Command } from 'commander'
import { HermesError } from '../lib/errors.ts'
import type { CliContext } from './context.ts'
import { createGroup, createRoot } from './help.ts'

interface JsonOption {
  readonly json: boolean
}

interface ListOptions extends JsonOption {
  readonly limit: number
}

const json = ['--json', 'print JSON, for scripts', false] as const
const limit = ['--limit <number>', 'how many at most', parseLimit, 20] as const

export function buildProgram(context: CliContext): Command {
  const root = createRoot(context)
  addGatewayCommands(root, context)
  addChatCommands(root, context)
  addInspectCommands(root, context)
  addMaintainCommands(root, context)
  return root
}

function addGatewayCommands(root: Command, context: CliContext): void {
  root.commandsGroup('The gateway:')
  const gateway = createGroup(root, 'gateway', 'run the daemon, look at it, stop it')
  gateway
    .command('run')
    .summary('run the daemon in the foreground')
    .description(
      'Runs the daemon in the foreground. SIGTERM or Ctrl-C ends it in order, a second one at once; SIGHUP reads the configuration again.',
    )
    .option('--strict', 'end with exit code 78 when the configuration cannot be used', false)
    .option('--accept-hooks', 'run the programs under `hooks` of config.yaml although nobody has accepted them', false)
    .action(async (options: { strict: boolean; acceptHooks: boolean }) => {
      const { gatewayRun } = await import('./gateway-run.ts')
      await gatewayRun(context, options)
    })
  addStatusCommand(gateway, context)
  gateway
    .command('stop')
    .description('end the running daemon and wait until it has ended')
    .action(async () => {
      const { gatewayStop } = await import('./gateway-stop.ts')
      await gatewayStop(context)
    })
}

function addStatusCommand(parent: Command, context: CliContext): void {
  parent
    .command('status')
    .summary('how the gateway is, and what needs you')
    .description('Says how the daemon is, what is degraded and what needs you. Exit code 3 when none runs.')
    .option(...json)
    .action(async (options: JsonOption) => {
      const { status } = await import('./status.ts')
      await status(context, options)
    })
}

function addChatCommands(root: Command, context: CliContext): void {
  root.commandsGroup('Talk to the agent:')
  root
    .command('chat')
    .description('a conversation in the terminal, or one question and its answer')
    .option('-q, --query <text>', 'ask this; print the answer alone and end')
    .option('--session <name>', 'go on with (or begin) the conversation of this name')
    .action(async (options: { query?: string; session?: string }) => {
      const { chat } = await import('./chat.ts')
      await chat(context, options)
    })
  const web = createGroup(root, 'web', 'the page in the browser')
  web
    .command('url')
    .description('print the address of the page, with the token that opens it')
    .action(async () => {
      const { webUrl } = await import('./web-url.ts')
      await webUrl(context)
    })
}

function addInspectCommands(root: Command, context: CliContext): void {
  root.commandsGroup('Look:')
  addStatusCommand(root, context)
  root
    .command('doctor')
    .summary('check everything the gateway needs, and say what to do')
    .description('Checks everything the gateway needs and says what to do. Exit code 1 when something is wrong.')
    .option('--offline', 'do not ask the platforms themselves', false)
    .option(...json)
    .action(async (options: JsonOption & { readonly offline: boolean }) => {
      const { doctor } = await import('./doctor.ts')
      await doctor(context, options)
    })
  const sessions = createGroup(root, 'sessions', 'conversations that were held')
  sessions
    .command('list')
    .description('the newest conversations')
    .option(...limit)
    .option(...json)
    .action(async (options: ListOptions) => {
      const { sessionsList } = await import('./sessions.ts')
      await sessionsList(context, options)
    })
  sessions
    .command('show <session>')
    .description('one conversation in full, by its id or its key')
    .option(...json)
    .action(async (name: string, options: JsonOption) => {
      const { sessionsShow } = await import('./sessions.ts')
      await sessionsShow(context, name, options)
    })
  sessions
    .command('search <words...>')
    .description('messages in which all the words occur, best match first')
    .option(...limit)
    .option(...json)
    .action(async (words: string[], options: ListOptions) => {
      const { sessionsSearch } = await import('./sessions.ts')
      await sessionsSearch(context, words, options)
    })
}

function addMaintainCommands(root: Command, context: CliContext): void {
  root.commandsGroup('Mend:')
  addConfigCommands(root, context)
  const inbox = createGroup(root, 'inbox', 'messages that were set aside because working on them kept failing')
  inbox
    .command('list')
    .description('what was set aside, and what is still to be worked on')
    .option(...json)
    .action(async (options: JsonOption) => (await import('./inbox.ts')).inboxList(context, options))
  inbox
    .command('retry')
    .description('work on a message once more')
    .argument('<number>', 'its number in the list', parseNumber)
    .action(async (seq: number) => (await import('./inbox.ts')).inboxRetry(context, seq))
  inbox
    .command('drop')
    .description('forget a message')
    .argument('<number>', 'its number in the list', parseNumber)
    .action(async (seq: number) => (await import('./inbox.ts')).inboxDrop(context, seq))
  const outbox = createGroup(root, 'outbox', 'replies that could not be delivered')
  outbox
    .command('list')
    .description('what could not be delivered, and why')
    .option(...json)
    .action(async (options: JsonOption) => (await import('./outbox.ts')).outboxList(context, options))
  outbox
    .command('retry')
    .description('send a reply once more')
    .argument('<number>', 'its number in the list', parseNumber)
    .action(async (id: number) => (await import('./outbox.ts')).outboxRetry(context, id))
  outbox
    .command('drop')
    .description('forget a reply')
    .argument('<number>', 'its number in the list', parseNumber)
    .action(async (id: number) => (await import('./outbox.ts')).outboxDrop(context, id))
  addHookCommands(root, context)
  addPluginCommands(root, context)
  root.commandsGroup('More:')
  root
    .command('version')
    .description('print the version')
    .action(() => {
      context.output.write(`${context.version}\n`)
    })
}

function addHookCommands(root: Command, context: CliContext): void {
  root.commandsGroup('Extend:')
  const hooks = createGroup(root, 'hooks', 'code of your own that hears what happens')
  hooks
    .command('list')
    .description('which hooks there are, and how they do')
    .option(...json)
    .action(async (options: JsonOption) => (await import('./hooks-list.ts')).hooksList(context, options))
  hooks
    .command('info <name>')
    .description('everything about one hook')
    .option(...json)
    .action(async (name: string, options: JsonOption) =>
      (await import('./hooks-list.ts')).hooksInfo(context, name, options),
    )
  hooks
    .command('test <name>')
    .description('call one hook with a made-up event; exit code 1 when it fails')
    .option('--event <event>', 'which event; the first that the hook wants')
    .option('--context <file>', 'the context of the event, a JSON object')
    .option(...json)
    .action(async (name: string, options: JsonOption & { readonly event?: string; readonly context?: string }) =>
      (await import('./hooks-test.ts')).hooksTest(context, name, options),
    )
  hooks
    .command('new <name>')
    .description('write a hook that works, to be changed')
    .option('--python', 'in Python instead of TypeScript', false)
    .action(async (name: string, options: { readonly python: boolean }) =>
      (await import('./hooks-new.ts')).hooksNew(context, name, options),
    )
  hooks
    .command('accept <name>')
    .description('let a program that config.yaml names run')
    .action(async (name: string) => (await import('./hooks-accept.ts')).hooksAccept(context, name))
  hooks
    .command('revoke <name>')
    .description('let a program that config.yaml names run no more')
    .action(async (name: string) => (await import('./hooks-accept.ts')).hooksRevoke(context, name))
  hooks
    .command('pause <name>')
    .description('let a hook hear nothing until it is resumed')
    .action(async (name: string) => (await import('./hooks-pause.ts')).hooksPause(context, name))
  hooks
    .command('resume <name>')
    .description('let a hook hear its events again, also one that was set aside')
    .action(async (name: string) => (await import('./hooks-pause.ts')).hooksResume(context, name))
}

function addPluginCommands(root: Command, context: CliContext): void {
  const plugins = createGroup(root, 'plugins', 'code of your own that changes what happens')
  plugins
    .command('list')
    .description('which plugins there are, and which are loaded')
    .option(...json)
    .action(async (options: JsonOption) => (await import('./plugins-list.ts')).pluginsList(context, options))
  plugins
    .command('info <id>')
    .description('everything about one plugin')
    .option(...json)
    .action(async (id: string, options: JsonOption) =>
      (await import('./plugins-list.ts')).pluginsInfo(context, id, options),
    )
  plugins
    .command('enable <id>')
    .summary('let a plugin run')
    .description('Writes a plugin into `plugins.enabled` of config.yaml: it may do everything that the gateway may.')
    .action(async (id: string) => (await import('./plugins-enable.ts')).pluginsEnable(context, id))
  plugins
    .command('disable <id>')
    .description('let a plugin run no more')
    .action(async (id: string) => (await import('./plugins-enable.ts')).pluginsDisable(context, id))
  plugins
    .command('new <name>')
    .description('write a plugin that works, to be changed')
    .option('--python', 'in Python instead of TypeScript', false)
    .action(async (name: string, options: { readonly python: boolean }) =>
      (await import('./plugins-new.ts')).pluginsNew(context, name, options),
    )
  plugins
    .command('test <id>')
    .summary('try a plugin out in an empty home')
    .description(
      'Loads a plugin in an empty home without a model, sends one message, and shows what it did. Exit code 1 when it fails.',
    )
    .option('--message <text>', 'what to say')
    .option(...json)
    .action(async (id: string, options: JsonOption & { readonly message?: string }) =>
      (await import('./plugins-test.ts')).pluginsTest(context, id, options),
    )
}

function addConfigCommands(root: Command, context: CliContext): void {
  const config = createGroup(root, 'config', 'the configuration: config.yaml and .env of the home')
  config
    .command('check')
    .description('every problem and warning with file, line and column; exit code 78 on problems')
    .option(...json)
    .action(async (options: JsonOption) => (await import('./config.ts')).configCheck(context, options))
  config
    .command('path')
    .description('print where config.yaml is, or would be')
    .action(async () => (await import('./config.ts')).configPath(context))
  config
    .command('show')
    .description('every value in effect and where it comes from; secrets are hidden')
    .option(...json)
    .action(async (options: JsonOption) => (await import('./config.ts')).configShow(context, options))
  config
    .command('schema')
    .description('print the JSON Schema of config.yaml, for editors')
    .action(async () => (await import('./config.ts')).configSchema(context))
}

function parseNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new HermesError('cli/usage', `Expected a number from the list, found ${JSON.stringify(text)}.`)
}

function parseLimit(text: string): number {
  const count = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (count >= 1 && count <= 10_000) return count
  throw new HermesError('cli/usage', `--limit: expected a number from 1 to 10000, found ${JSON.stringify(text)}.`)
}
