/** `/help` and `/commands`: what can be typed. */
import type { CommandDefinition } from '../command.ts'

const pageSize = 20

export const helpCommand: CommandDefinition = {
  name: 'help',
  aliases: [],
  description: 'Show what I understand',
  argsHint: '',
  queue: 'control',
  async run(_context, services) {
    return `Write to me in plain words, or use a command:\n\n${services.commands().map(formatCommand).join('\n')}`
  },
}

export const commandsCommand: CommandDefinition = {
  name: 'commands',
  aliases: [],
  description: 'List all commands',
  argsHint: '[page]',
  queue: 'control',
  async run({ args }, services) {
    const all = services.commands()
    const pages = Math.max(1, Math.ceil(all.length / pageSize))
    const page = Math.min(pages, Math.max(1, Number.parseInt(args, 10) || 1))
    const lines = all.slice((page - 1) * pageSize, page * pageSize).map(formatCommand)
    return `**Commands** (page ${page} of ${pages})\n\n${lines.join('\n')}`
  },
}

function formatCommand({ name, aliases, argsHint, description }: CommandDefinition): string {
  const also = aliases.length === 0 ? '' : ` (also ${aliases.map((alias) => `/${alias}`).join(', ')})`
  return `- \`/${name}${argsHint === '' ? '' : ` ${argsHint}`}\` — ${description}${also}`
}
