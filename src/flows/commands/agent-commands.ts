/**
 * The `hermes` commands that a command of the agent may run. They read, with the rights of the person whose turn it is: each
 * has a ceiling like a slash command, and shows no more than the person may see. What accepts, enables, approves, pairs,
 * configures or shows a token is never among them.
 */

import { parseArgs } from 'node:util'
import type { CommandOutput } from '../../agent/sandbox/turn-socket.ts'
import type { CommandDefinition } from '../../commands/command.ts'
import type { CommandRegistry } from '../../commands/registry.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { stripTerminalEscapes } from '../../lib/visible-text.ts'
import type { SessionScope, VisibleRow } from '../../store/sqlite/visible-sessions.ts'
import type { CommandTurn } from '../environments/sandbox-sockets.ts'
import { sessionScopeOf } from '../sessions/session-scope.ts'
import { type CommandAccounts, refusalOf } from './command-dispatcher.ts'

export interface AgentCommandDeps {
  readonly commands: Pick<CommandRegistry, 'resolve'>
  readonly accounts: CommandAccounts
  /** Lists sessions, or searches their messages. */
  readSessions(
    request: { readonly scope: SessionScope; readonly limit: number; readonly words?: string },
    signal: AbortSignal,
  ): Promise<readonly VisibleRow[]>
  /** One line each. */
  plugins(): Promise<readonly string[]>
  hooks(): readonly string[]
  /** The scheduled jobs that the person may see, one line each. */
  jobs(turn: CommandTurn): Promise<readonly string[]>
  readonly log: Logger
}

interface AgentCommand {
  /** Further words are arguments. */
  readonly words: string
  readonly description: string
  readonly minimumRole?: 'owner'
  run(call: AgentCommandCall): Promise<string>
}

interface AgentCommandCall {
  readonly deps: AgentCommandDeps
  readonly turn: CommandTurn
  readonly args: readonly string[]
  readonly signal: AbortSignal
}

/** The slash commands that only show something. */
const slashCommands = ['status', 'version', 'whoami', 'commands', 'usage']

const agentCommands: readonly AgentCommand[] = [
  { words: 'help', description: 'show these commands', run: async ({ deps }) => helpText(deps) },
  {
    words: 'sessions list',
    description: 'list the conversations that you may see [--limit <number>] [--json]',
    run: (call) => showSessions(call, false),
  },
  {
    words: 'sessions search',
    description: 'find messages that contain all words [--limit <number>] [--json]',
    run: (call) => showSessions(call, true),
  },
  {
    words: 'cron list',
    description: 'list scheduled jobs',
    run: async ({ deps, turn }) => linesOr(await deps.jobs(turn), 'There are no scheduled jobs.'),
  },
  {
    words: 'plugins list',
    description: 'list plugins',
    minimumRole: 'owner',
    run: async ({ deps }) => linesOr(await deps.plugins(), 'There are no plugins.'),
  },
  {
    words: 'hooks list',
    description: 'list hooks',
    minimumRole: 'owner',
    run: async ({ deps }) => linesOr(deps.hooks(), 'There are no hooks.'),
  },
]

/** The exit code of a command that the agent may not run (sysexits.h, EX_NOPERM). */
const notPermitted = 77
const usageError = 2

/** Rejects when a command fails. */
export async function runAgentCommand(
  deps: AgentCommandDeps,
  turn: CommandTurn,
  args: readonly string[],
  signal: AbortSignal,
): Promise<CommandOutput> {
  const words = wordsOf(args)
  const match = findCommand(deps, words)
  const session = turn.sessionKey
  if (match === undefined) {
    deps.log.info({ event: 'agent_command.refused', session }, 'a hermes command is not permitted to the agent')
    return refused(`hermes ${words.slice(0, 2).join(' ')} is not available to the agent. ${alternativeTo(words)}`)
  }
  const { command } = match
  const [name = ''] = command.words.split(' ')
  const definition = { name, aliases: [], ...(command.minimumRole && { minimumRole: command.minimumRole }) }
  const refusal = await refusalOf(deps.accounts, definition, turn)
  if (refusal !== undefined) {
    deps.log.info(
      { event: 'agent_command.refused', session, command: command.words },
      'a hermes command is not permitted to the agent',
    )
    return refused(refusal)
  }
  deps.log.info({ event: 'agent_command.ran', session, command: command.words }, 'a command called hermes')
  try {
    const output = await command.run({ deps, turn, args: match.args, signal })
    return { output: `${stripTerminalEscapes(output)}\n`, errors: '', exitCode: 0 }
  } catch (error) {
    if (error instanceof UsageError) return { output: '', errors: `hermes: ${error.message}\n`, exitCode: usageError }
    throw error
  }
}

class UsageError extends Error {}

function refused(reason: string): CommandOutput {
  return { output: '', errors: `hermes: ${reason}\n`, exitCode: notPermitted }
}

/** Splits the words like the complete `hermes` does. */
function wordsOf(args: readonly string[]): readonly string[] {
  const [first = 'help', ...rest] = args
  if (first === '--help' || first === '-h') return ['help']
  if (first === '--version' || first === '-V') return ['version']
  return first === 'gateway' && rest[0] === 'status' ? rest : [first, ...rest]
}

function findCommand(
  deps: AgentCommandDeps,
  words: readonly string[],
): { readonly command: AgentCommand; readonly args: readonly string[] } | undefined {
  const [first = ''] = words
  const command = agentCommands.find(
    ({ words: commandWords }) => commandWords === words.slice(0, commandWords.split(' ').length).join(' '),
  )
  if (command !== undefined) return { command, args: words.slice(command.words.split(' ').length) }
  const slash = slashCommands.includes(first) ? deps.commands.resolve(first) : undefined
  return slash === undefined ? undefined : { command: fromSlashCommand(slash), args: words.slice(1) }
}

function fromSlashCommand(definition: CommandDefinition): AgentCommand {
  const { name, description, minimumRole } = definition
  return {
    words: name,
    description,
    ...(minimumRole && { minimumRole }),
    async run({ turn, args, signal }) {
      const { source, authority, sessionKey } = turn
      const context = { source, authority, sessionKey, name, args: args.join(' '), rawCommand: name, signal }
      const reply = await definition.run(context)
      if (typeof reply !== 'string') throw new Error(`/${name} changes something`)
      return reply
    },
  }
}

function helpText({ commands }: AgentCommandDeps): string {
  const slash = slashCommands.flatMap((name) => commands.resolve(name) ?? []).map(fromSlashCommand)
  const lines = [...agentCommands, ...slash].map(({ words, description }) => `  hermes ${words} — ${description}`)
  return `The agent may run these commands, with the rights of the person whose turn it is:\n\n${lines.join('\n')}`
}

const maxResults = 100

async function showSessions({ deps, turn, args, signal }: AgentCommandCall, isSearch: boolean): Promise<string> {
  const { json, limit, words } = readOptions(args)
  if (isSearch && words === '') throw new UsageError('say what to search for: hermes sessions search <words...>')
  const rows = await deps.readSessions({ scope: sessionScopeOf(turn), limit, ...(isSearch && { words }) }, signal)
  if (json) return JSON.stringify(rows, null, 2)
  const lines = rows.map(({ session, at, role, text }) =>
    [session, new Date(at).toISOString(), ...(isSearch ? [role] : []), text.replace(/\s+/g, ' ')].join('  '),
  )
  return linesOr(lines, isSearch ? 'No messages found.' : 'There are no conversations yet.')
}

function readOptions(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { json: { type: 'boolean', default: false }, limit: { type: 'string', default: '20' } },
      allowPositionals: true,
    })
    const limit = Number(values.limit)
    if (!Number.isInteger(limit) || limit < 1) throw new Error('--limit must be a whole number above 0')
    return { json: values.json, limit: Math.min(limit, maxResults), words: positionals.join(' ') }
  } catch (error) {
    throw new UsageError(messageOf(error))
  }
}

const linesOr = (lines: readonly string[], none: string) => (lines.length === 0 ? none : lines.join('\n'))

/** What a person can do instead. */
function alternativeTo([first = '']: readonly string[]): string {
  switch (first) {
    case 'approvals':
      return 'A person answers questions in the chat with /approve or /deny.'
    case 'pause':
      return 'An owner can write /pause.'
    case 'chat':
      return 'The agent answers in this conversation.'
    default:
      return 'An owner can run it in a terminal on the machine of the gateway. `hermes help` lists what the agent may run.'
  }
}
