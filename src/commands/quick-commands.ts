/**
 * Slash commands that the operator defines (`quick_commands`, contract §3.5): shell commands, and other names for commands.
 */
import type { CommandContext, CommandDefinition } from './command.ts'
import type { QuickCommands } from './config.ts'

/** The commands of the operator, and what runs them. */
export interface QuickCommandSource {
  /** Read for each command. */
  settings(): QuickCommands
  /** Runs a shell command. `/stop` ends it. Resolves with the reply. */
  run(command: string, context: CommandContext): Promise<string>
}

type Resolve = (name: string) => CommandDefinition | undefined

/** The command of this name; undefined if the operator has defined none. `resolve` finds all other commands. */
export function findQuickCommand(
  source: QuickCommandSource,
  name: string,
  resolve: Resolve,
): CommandDefinition | undefined {
  const quick = source.settings()
  const entry = Object.hasOwn(quick, name) ? quick[name] : undefined
  if (entry === undefined) return undefined
  return entry.type === 'exec' ? execCommand(source, name, entry) : aliasCommand(source, name, resolve)
}

/** Lists the commands for menus and `/help`: an alias has its own name there. */
export function listQuickCommands(source: QuickCommandSource, resolve: Resolve): readonly CommandDefinition[] {
  return Object.entries(source.settings()).flatMap(([name, entry]) => {
    if (resolve(name) !== undefined) return []
    const command = findQuickCommand(source, name, resolve)
    if (command === undefined || entry.type === 'exec') return command ?? []
    const description = entry.description === '' ? `Short for ${asTyped(entry.target)}` : entry.description
    return { ...command, name, aliases: [], description }
  })
}

function execCommand(
  { run }: QuickCommandSource,
  name: string,
  { command, description, everybody }: ExecEntry,
): CommandDefinition {
  return {
    name,
    aliases: [],
    description: description === '' ? 'Run a command of the operator' : description,
    argsHint: '',
    queue: 'control',
    minimumRole: everybody ? undefined : 'owner',
    run: (context) => run(command, context),
  }
}

type ExecEntry = Extract<QuickCommands[string], { readonly type: 'exec' }>

/** Follows a chain of aliases. One that leads nowhere or back to itself is a command that says so. */
function aliasCommand(source: QuickCommandSource, name: string, resolve: Resolve): CommandDefinition {
  const quick = source.settings()
  const seen = [name]
  let args = ''
  for (;;) {
    const entry = quick[seen.at(-1) ?? name]
    if (entry?.type !== 'alias') return brokenAlias(name, `\`/${name}\` stands for nothing.`)
    const [target = '', ...words] = asTyped(entry.target).slice(1).split(/\s+/)
    args = [...words, args].join(' ').trim()
    const next = target.toLowerCase()
    const definition = resolve(next)
    if (definition !== undefined) return { ...definition, argsBefore: args }
    const following = Object.hasOwn(quick, next) ? quick[next] : undefined
    if (following === undefined) return brokenAlias(name, `\`/${name}\` stands for \`/${next}\`, which does not exist.`)
    if (following.type === 'exec') return { ...execCommand(source, next, following), argsBefore: args }
    if (seen.includes(next)) {
      const path = [...seen, next].map((step) => `\`/${step}\``).join(' → ')
      return brokenAlias(name, `\`/${name}\` stands for itself: ${path}.`)
    }
    seen.push(next)
  }
}

function asTyped(target: string): string {
  const text = target.trim()
  return text.startsWith('/') ? text : `/${text}`
}

function brokenAlias(name: string, problem: string): CommandDefinition {
  return {
    name,
    aliases: [],
    description: 'A quick command that does not work',
    argsHint: '',
    queue: 'control',
    run: async () => `${problem} An owner can correct \`quick_commands\` in the configuration.`,
  }
}
