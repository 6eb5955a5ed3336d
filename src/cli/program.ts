/**
 * Defines the commands, options and help texts of `hermes`. The code of a command is imported when it runs.
 */
import type { Command } from 'commander'
import { HermesError } from '../lib/errors.ts'
import type { CliContext } from './context.ts'
import { createGroup, createRoot } from './help.ts'
import type { SendOptions } from './send.ts'

interface JsonOption {
  readonly json: boolean
}

interface ListOptions extends JsonOption {
  readonly limit: number
}

const json = ['--json', 'print JSON, for scripts', false] as const
const limit = ['--limit <number>', 'maximum number of results', parseLimit, 20] as const

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
  const gateway = createGroup(root, 'gateway', 'run, inspect and stop the daemon')
  gateway
    .command('run')
    .summary('run the daemon in the foreground')
    .description(
      'Runs the daemon in the foreground. SIGTERM or Ctrl-C stops it gracefully, a second signal at once. SIGHUP reloads the configuration, SIGUSR1 restarts the daemon.',
    )
    .option('--strict', 'exit with code 78 when the configuration is invalid', false)
    .option('--accept-hooks', 'run the programs under `hooks` of config.yaml without consent', false)
    .action(async (options: { strict: boolean; acceptHooks: boolean }) => {
      const { gatewayRun } = await import('./gateway-run.ts')
      await gatewayRun(context, options)
    })
  addStatusCommand(gateway, context)
  gateway
    .command('stop')
    .description('stop the running daemon and wait until it has exited')
    .action(async () => {
      const { gatewayStop } = await import('./gateway-stop.ts')
      await gatewayStop(context)
    })
  gateway
    .command('restart')
    .description('restart the running daemon and wait until it is ready; nothing is lost')
    .action(async () => {
      const { gatewayRestart } = await import('./gateway-restart.ts')
      await gatewayRestart(context)
    })
  addPauseCommand(root, context)
}

function addPauseCommand(root: Command, context: CliContext): void {
  root
    .command('pause [reason...]')
    .summary('pause the agent; `hermes pause off` ends the pause')
    .description(
      'Pauses the agent for everybody, also over restarts: messages are accepted and wait, running turns stop at their next step, and commands still work. `hermes pause off` ends the pause.',
    )
    .action(async (reason: string[]) => (await import('./pause.ts')).pause(context, reason))
}

function addStatusCommand(parent: Command, context: CliContext): void {
  parent
    .command('status')
    .summary('show the state of the gateway and what needs your attention')
    .description(
      'Shows the state of the daemon, what is degraded, and what needs your attention. Exit code 3 when no gateway is running.',
    )
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
    .description('hold a conversation in the terminal, or ask one question')
    .option(
      '-q, --query [text]',
      'ask one question, print only the answer, and exit; without a text, or with -, the question is read from stdin',
    )
    .option('--session <name>', 'continue or start the conversation with this name')
    .option('-t, --toolsets <names>', 'offer a new conversation only these toolsets, separated by commas')
    .action(async (options: { query?: string | true; session?: string; toolsets?: string }) => {
      const { chat } = await import('./chat.ts')
      await chat(context, options)
    })
  root
    .command('send <target> [text...]')
    .summary('send a message to a chat, for scripts')
    .description(
      'Sends a message through the running gateway and waits for the platform. Targets: `<platform>` for its home channel, `<platform>:<chat_id>[:<thread_id>]`, `<platform>:#<channel>`, `local` for a file of the home; several with commas. Without a text, or with -, the message is read from stdin. Exit code 0 when it was sent, 1 when it was refused or skipped, 75 when it is stored but not confirmed yet.',
    )
    .option('-f, --file <path>', 'read the text from a file')
    .option('-m, --media <path...>', 'attach files', [])
    .option('--timeout <seconds>', 'how long to wait for the platform', parseTimeout, 30)
    .option('--force', 'try a chat again that took no messages the last time', false)
    .option(...json)
    .action(async (target: string, words: string[], options: SendOptions) => {
      const { send } = await import('./send.ts')
      await send(context, target, words, options)
    })
  const web = createGroup(root, 'web', 'the web page')
  web
    .command('url')
    .description('print the address of the web page, including the access token')
    .action(async () => {
      const { webUrl } = await import('./web-url.ts')
      await webUrl(context)
    })
}

function addInspectCommands(root: Command, context: CliContext): void {
  root.commandsGroup('Inspect:')
  addStatusCommand(root, context)
  root
    .command('doctor')
    .summary('check everything the gateway needs')
    .description(
      'Checks everything the gateway needs and suggests a fix for each problem. Exit code 1 when there is a problem.',
    )
    .option('--offline', 'do not connect to the model or the platforms', false)
    .option(...json)
    .action(async (options: JsonOption & { readonly offline: boolean }) => {
      const { doctor } = await import('./doctor.ts')
      await doctor(context, options)
    })
  addPromptCommand(root, context)
  const sessions = createGroup(root, 'sessions', 'stored conversations')
  sessions
    .command('list')
    .description('list the newest conversations')
    .option(...limit)
    .option(...json)
    .action(async (options: ListOptions) => {
      const { sessionsList } = await import('./sessions.ts')
      await sessionsList(context, options)
    })
  sessions
    .command('show <session>')
    .description('show a conversation by its id or its key')
    .option(...json)
    .action(async (name: string, options: JsonOption) => {
      const { sessionsShow } = await import('./sessions.ts')
      await sessionsShow(context, name, options)
    })
  sessions
    .command('search <words...>')
    .description('find messages that contain all words, best match first')
    .option(...limit)
    .option(...json)
    .action(async (words: string[], options: ListOptions) => {
      const { sessionsSearch } = await import('./sessions.ts')
      await sessionsSearch(context, words, options)
    })
}

function addMaintainCommands(root: Command, context: CliContext): void {
  root.commandsGroup('Maintain:')
  addConfigCommands(root, context)
  addProfileCommands(root, context)
  addAuthCommands(root, context)
  addToolCommands(root, context)
  addMemoryCommands(root, context)
  addApprovalCommands(root, context)
  addPairingCommands(root, context)
  const inbox = createGroup(root, 'inbox', 'accepted messages: dead letters, and how each one ended')
  inbox
    .command('list')
    .description('list dead letters, and messages that are not processed yet')
    .option(...json)
    .action(async (options: JsonOption) => (await import('./inbox.ts')).inboxList(context, options))
  inbox
    .command('retry')
    .description('process a dead letter again')
    .argument('<number>', 'number in the list', parseNumber)
    .action(async (seq: number) => (await import('./inbox.ts')).inboxRetry(context, seq))
  inbox
    .command('drop')
    .description('delete a dead letter')
    .argument('<number>', 'number in the list', parseNumber)
    .action(async (seq: number) => (await import('./inbox.ts')).inboxDrop(context, seq))
  inbox
    .command('audit')
    .summary('check how every accepted message has ended')
    .description(
      'Counts how accepted messages ended (answered, failed with a notice, intentionally silent, or absorbed into a turn that did), and lists those that wait with the reason. Exit code 1 when a message is not accounted for. Finished messages are kept for `retention.days`.',
    )
    .option('--since <time>', 'only messages accepted since then: 30m, 12h, 7d, or a date')
    .option(...json)
    .action(async (options: JsonOption & { since?: string }) =>
      (await import('./inbox-audit.ts')).inboxAudit(context, options),
    )
  const outbox = createGroup(root, 'outbox', 'dead letters: replies that could not be delivered')
  outbox
    .command('list')
    .description('list dead letters with their reasons')
    .option(...json)
    .action(async (options: JsonOption) => (await import('./outbox.ts')).outboxList(context, options))
  outbox
    .command('retry')
    .description('send a dead letter again')
    .argument('<number>', 'number in the list', parseNumber)
    .action(async (id: number) => (await import('./outbox.ts')).outboxRetry(context, id))
  outbox
    .command('drop')
    .description('delete a dead letter')
    .argument('<number>', 'number in the list', parseNumber)
    .action(async (id: number) => (await import('./outbox.ts')).outboxDrop(context, id))
  addHookCommands(root, context)
  addPluginCommands(root, context)
  addSkillCommands(root, context)
  addPlatformCommand(root, context)
  root.commandsGroup('More:')
  root
    .command('version')
    .description('print the version')
    .action(() => {
      context.output.write(`${context.version}\n`)
    })
}

function addPlatformCommand(root: Command, context: CliContext): void {
  createGroup(root, 'platforms', 'the platforms that people write from')
    .command('manifest <platform>')
    .summary('print the settings of an app for the pages of its platform')
    .description(
      'Prints the manifest of the app as JSON: its permissions, events and slash commands, to be pasted into the pages of the platform. With a running gateway it has the commands of plugins and skills, too.',
    )
    .option(...json)
    .action(async (platform: string, options: JsonOption) =>
      (await import('./platforms.ts')).platformsManifest(context, platform, options),
    )
}

function addPromptCommand(root: Command, context: CliContext): void {
  createGroup(root, 'prompt', 'what the model is told before a conversation')
    .command('show')
    .summary('show the system prompt of a new conversation, layer by layer')
    .description(
      'Shows what a direct message of an owner would begin a conversation with: the layers of the system prompt with their sizes, what is added at each call, and the tools. Nothing is stored. Without a running gateway, one is started for the moment.',
    )
    .option('--platform <name>', 'the platform of the message', 'cli')
    .option(...json)
    .action(async (options: JsonOption & { readonly platform: string }) =>
      (await import('./prompt.ts')).promptShow(context, options),
    )
}

function addToolCommands(root: Command, context: CliContext): void {
  const tools = createGroup(root, 'tools', 'which tools the model is offered')
  const platform = ['--platform <name>', 'only on this platform'] as const
  tools
    .command('list')
    .description('list the toolsets with their tools, and whether a new conversation is offered them')
    .option(...platform)
    .option(...json)
    .action(async (options: JsonOption & { platform?: string }) =>
      (await import('./tools.ts')).toolsList(context, options),
    )
  tools
    .command('enable <names...>')
    .description('offer toolsets or tools to new conversations; edits config.yaml')
    .option(...platform)
    .action(async (names: string[], options: { platform?: string }) =>
      (await import('./tools.ts')).toolsEnable(context, names, options),
    )
  tools
    .command('disable <names...>')
    .summary('take toolsets or tools away; edits config.yaml')
    .description(
      'Takes toolsets or tools away: on all platforms with `agent.disabled_toolsets`, which counts at once, or on one platform for new conversations.',
    )
    .option(...platform)
    .action(async (names: string[], options: { platform?: string }) =>
      (await import('./tools.ts')).toolsDisable(context, names, options),
    )
}

function addAuthCommands(root: Command, context: CliContext): void {
  const auth = createGroup(root, 'auth', 'the keys of model providers')
  const load = () => import('./auth.ts')
  auth
    .command('list [provider]')
    .description('list the keys in auth.json and in the environment, and which of them rest after a failure')
    .option(...json)
    .action(async (provider: string | undefined, options: JsonOption) =>
      (await load()).authList(context, provider, options),
    )
  auth
    .command('add <provider>')
    .summary('store a key, which is read from the standard input')
    .description(
      'Stores one more key of a provider in auth.json. The key is typed, and not shown, or read from the standard input: `hermes auth add openrouter < key.txt`. A turn uses the first key that the provider accepts.',
    )
    .option('--label <text>', 'a name for people')
    .option('--base-url <url>', 'the address to which this key belongs, if it is another one')
    .action(async (provider: string, options: { label?: string; baseUrl?: string }) =>
      (await load()).authAdd(context, provider, options),
    )
  auth
    .command('remove <provider> <key>')
    .description('delete a stored key, by its id, label or number in the list')
    .action(async (provider: string, key: string) => (await load()).authRemove(context, provider, key))
  auth
    .command('reset <provider> [key]')
    .description('use keys again that rest after a failure')
    .action(async (provider: string, key: string | undefined) => (await load()).authReset(context, provider, key))
}

function addProfileCommands(root: Command, context: CliContext): void {
  const profile = createGroup(root, 'profile', 'separate homes: each with its own settings, people and conversations')
  const manage = () => import('./profiles/manage.ts')
  profile
    .command('list')
    .description('list the profiles, and which of their gateways run')
    .option(...json)
    .action(async (options: JsonOption) => (await manage()).profileList(context, options))
  profile
    .command('create <name>')
    .summary('create a profile, empty or with the settings of another')
    .description(
      'Creates a profile with a free port. `--clone` copies config.yaml, .env and SOUL.md of the selected profile, without tokens of platforms and without conversations.',
    )
    .option('--clone', 'copy the settings of the selected profile', false)
    .option('--clone-from <profile>', 'copy the settings of this profile')
    .action(async (name: string, options: { clone: boolean; cloneFrom?: string }) =>
      (await import('./profiles/create.ts')).profileCreate(context, name, options),
    )
  profile
    .command('use <name>')
    .description('select the profile of commands without --profile; `default` is the root home')
    .action(async (name: string) => (await manage()).profileUse(context, name))
  profile
    .command('show [name]')
    .description('show a profile; without a name, the selected one')
    .option(...json)
    .action(async (name: string | undefined, options: JsonOption) =>
      (await manage()).profileShow(context, name, options),
    )
  profile
    .command('rename <name> <new-name>')
    .description('rename a profile while its gateway is stopped; its conversations go on')
    .action(async (name: string, newName: string) => (await manage()).profileRename(context, name, newName))
  profile
    .command('delete <name>')
    .description('delete a profile with its conversations while its gateway is stopped')
    .option('--yes', 'do not ask', false)
    .action(async (name: string, options: { yes: boolean }) => (await manage()).profileDelete(context, name, options))
  profile
    .command('export <name> [file]')
    .summary('write a profile to an archive (.tar.gz)')
    .description(
      'Writes settings and extensions of a profile to an archive (.tar.gz), without secrets and conversations unless `--with-secrets`.',
    )
    .option('--with-secrets', 'include keys, tokens, conversations and the stored state of plugins', false)
    .action(async (name: string, file: string | undefined, options: { withSecrets: boolean }) =>
      (await import('./profiles/export.ts')).profileExport(context, name, file, options),
    )
}

function addApprovalCommands(root: Command, context: CliContext): void {
  const approvals = createGroup(root, 'approvals', 'commands that run without a question')
  approvals
    .command('list')
    .description('list what owners and users have allowed for ever or for a conversation')
    .option(...json)
    .action(async (options: JsonOption) => (await import('./approvals.ts')).approvalsList(context, options))
  approvals
    .command('revoke <entry>')
    .description('take back an entry of the list, by its id or its command')
    .action(async (entry: string) => (await import('./approvals.ts')).approvalsRevoke(context, entry))
}

function addPairingCommands(root: Command, context: CliContext): void {
  const pairing = createGroup(root, 'pairing', 'people who ask for access, and people who were approved')
  pairing
    .command('list')
    .description('list requests for access and approved people')
    .option(...json)
    .action(async (options: JsonOption) => (await import('./pairing.ts')).pairingList(context, options))
  pairing
    .command('approve <platform> <code>')
    .description('give a person access, by the code that the person received or by the id of the request')
    .option(...json)
    .action(async (platform: string, code: string, options: JsonOption) =>
      (await import('./pairing.ts')).pairingApprove(context, platform, code, options),
    )
  pairing
    .command('deny <platform> <person>')
    .description('refuse one request, by the id of the user or of the request; the person gets no answer')
    .option(...json)
    .action(async (platform: string, person: string, options: JsonOption) =>
      (await import('./pairing.ts')).pairingDeny(context, platform, person, options),
    )
  pairing
    .command('revoke <platform> <user-id>')
    .description('take the access of an approved person back')
    .option(...json)
    .action(async (platform: string, userId: string, options: JsonOption) =>
      (await import('./pairing.ts')).pairingRevoke(context, platform, userId, options),
    )
  pairing
    .command('clear-pending [platform]')
    .description('end the requests that wait; their codes are worthless then')
    .option(...json)
    .action(async (platform: string | undefined, options: JsonOption) =>
      (await import('./pairing.ts')).pairingClear(context, platform, options),
    )
}

function addMemoryCommands(root: Command, context: CliContext): void {
  const memory = createGroup(root, 'memory', 'what the agent remembers in all conversations')
  memory
    .command('status')
    .summary('show the memory files and the memory provider')
    .description(
      'Shows how full MEMORY.md and USER.md are, what is wrong with them, and which memory providers are installed. Exit code 1 when a file or the provider cannot be used.',
    )
    .option(...json)
    .action(async (options: JsonOption) => (await import('./memory.ts')).memoryStatus(context, options))
  memory
    .command('show [target]')
    .description('print the entries: `memory` (the notes of the agent), `user` (the profile of the owner), or both')
    .option(...json)
    .action(async (target: string | undefined, options: JsonOption) =>
      (await import('./memory.ts')).memoryShow(context, target, options),
    )
  memory
    .command('setup [provider]')
    .summary('choose a plugin as the long-term memory')
    .description('Sets `memory.provider` in config.yaml. Without a name it lists the providers that are installed.')
    .action(async (name: string | undefined) => (await import('./memory.ts')).memorySetup(context, name))
  memory
    .command('off')
    .description('use no memory provider; MEMORY.md and USER.md stay in use')
    .action(async () => (await import('./memory.ts')).memoryOff(context))
}

function addHookCommands(root: Command, context: CliContext): void {
  root.commandsGroup('Extend:')
  const hooks = createGroup(root, 'hooks', 'your own code that observes events')
  hooks
    .command('list')
    .description('list hooks with their state and statistics')
    .option(...json)
    .action(async (options: JsonOption) => (await import('./hooks-list.ts')).hooksList(context, options))
  hooks
    .command('info <name>')
    .description('show all details of a hook')
    .option(...json)
    .action(async (name: string, options: JsonOption) =>
      (await import('./hooks-list.ts')).hooksInfo(context, name, options),
    )
  hooks
    .command('test <name>')
    .description('call a hook with a sample event; exit code 1 when it fails')
    .option('--event <event>', 'name of the event (default: the first event of the hook)')
    .option('--context <file>', 'file with the event context, a JSON object')
    .option(...json)
    .action(async (name: string, options: JsonOption & { readonly event?: string; readonly context?: string }) =>
      (await import('./hooks-test.ts')).hooksTest(context, name, options),
    )
  hooks
    .command('new <name>')
    .description('create a hook from a working template')
    .option('--python', 'use Python instead of TypeScript', false)
    .action(async (name: string, options: { readonly python: boolean }) =>
      (await import('./hooks-new.ts')).hooksNew(context, name, options),
    )
  hooks
    .command('accept <name>')
    .description('give consent to run a shell hook configured in config.yaml')
    .action(async (name: string) => (await import('./hooks-accept.ts')).hooksAccept(context, name))
  hooks
    .command('revoke <name>')
    .description('revoke consent for a shell hook configured in config.yaml')
    .action(async (name: string) => (await import('./hooks-accept.ts')).hooksRevoke(context, name))
  hooks
    .command('pause <name>')
    .description('stop delivering events to a hook until it is resumed')
    .action(async (name: string) => (await import('./hooks-pause.ts')).hooksPause(context, name))
  hooks
    .command('resume <name>')
    .description('resume a hook that was paused, or disabled after repeated failures')
    .action(async (name: string) => (await import('./hooks-pause.ts')).hooksResume(context, name))
}

function addSkillCommands(root: Command, context: CliContext): void {
  const skills = createGroup(root, 'skills', 'instructions that the agent follows for kinds of work')
  const load = () => import('./skills.ts')
  skills
    .command('list')
    .description('list the skills of the home, of skills.external_dirs and of the gateway')
    .option(...json)
    .action(async (options: JsonOption) => (await load()).skillsList(context, options))
  skills
    .command('view <name>')
    .description('show the instructions and the files of a skill')
    .option(...json)
    .action(async (name: string, options: JsonOption) => (await load()).skillsView(context, name, options))
  skills
    .command('new <name>')
    .description('create a skill from a template')
    .option('--category <name>', 'create it in this category')
    .action(async (name: string, options: { category?: string }) => (await load()).skillsNew(context, name, options))
  skills
    .command('install <source>')
    .summary('install skills from a folder or an archive')
    .description(
      'Copies the skills of a folder, or of a .zip, .tar or .tar.gz archive, into the home. They are scanned for instructions of attackers first; links, and paths that lead elsewhere, are refused.',
    )
    .option('--category <name>', 'install into this category')
    .option('--replace', 'replace skills that exist', false)
    .action(async (source: string, options: { category?: string; replace: boolean }) =>
      (await load()).skillsInstall(context, source, options),
    )
  skills
    .command('check')
    .summary('check the files of all skills')
    .description('Checks the files of all skills. Exit code 1 when one of them cannot be used.')
    .option(...json)
    .action(async (options: JsonOption) => (await load()).skillsCheck(context, options))
}

function addPluginCommands(root: Command, context: CliContext): void {
  const plugins = createGroup(root, 'plugins', 'your own code that changes the behaviour of the gateway')
  plugins
    .command('list')
    .description('list plugins and their state')
    .option(...json)
    .action(async (options: JsonOption) => (await import('./plugins-list.ts')).pluginsList(context, options))
  plugins
    .command('info <id>')
    .description('show all details of a plugin')
    .option(...json)
    .action(async (id: string, options: JsonOption) =>
      (await import('./plugins-list.ts')).pluginsInfo(context, id, options),
    )
  plugins
    .command('enable <id>')
    .summary('enable a plugin')
    .description('Adds a plugin to `plugins.enabled` of config.yaml. The plugin gets all permissions of the gateway.')
    .action(async (id: string) => (await import('./plugins-enable.ts')).pluginsEnable(context, id))
  plugins
    .command('disable <id>')
    .description('disable a plugin')
    .action(async (id: string) => (await import('./plugins-enable.ts')).pluginsDisable(context, id))
  plugins
    .command('new <name>')
    .description('create a plugin from a working template')
    .option('--python', 'use Python instead of TypeScript', false)
    .action(async (name: string, options: { readonly python: boolean }) =>
      (await import('./plugins-new.ts')).pluginsNew(context, name, options),
    )
  plugins
    .command('test <id>')
    .summary('test a plugin in an empty home')
    .description(
      'Loads a plugin in an empty home without a model, sends one message, and shows the calls of the plugin. Exit code 1 when it fails.',
    )
    .option('--message <text>', 'text of the message')
    .option(...json)
    .action(async (id: string, options: JsonOption & { readonly message?: string }) =>
      (await import('./plugins-test.ts')).pluginsTest(context, id, options),
    )
}

function addConfigCommands(root: Command, context: CliContext): void {
  const config = createGroup(root, 'config', 'the configuration: config.yaml and .env of the home')
  config
    .command('check')
    .description('list problems and warnings with file, line and column; exit code 78 when there is a problem')
    .option(...json)
    .action(async (options: JsonOption) => (await import('./config.ts')).configCheck(context, options))
  config
    .command('path')
    .description('print the path of config.yaml')
    .action(async () => (await import('./config.ts')).configPath(context))
  config
    .command('show')
    .description('show all values in effect and their origin; secrets are hidden')
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

function parseTimeout(text: string): number {
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : -1
  if (seconds >= 0 && seconds <= 120) return seconds
  throw new HermesError('cli/usage', `--timeout: expected a number from 0 to 120, found ${JSON.stringify(text)}.`)
}

function parseLimit(text: string): number {
  const count = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (count >= 1 && count <= 10_000) return count
  throw new HermesError('cli/usage', `--limit: expected a number from 1 to 10000, found ${JSON.stringify(text)}.`)
}
