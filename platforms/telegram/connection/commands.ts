/**
 * Publishes the gateway's commands in Telegram's command menu when they have changed.
 */
import { isDeepStrictEqual } from 'node:util'
import type { CommandEntry } from '#sdk'
import { asRecords } from '../inbound/payload.ts'
import type { BotApi } from './api.ts'

interface BotCommand {
  readonly command: string
  readonly description: string
}

/** Limits of `setMyCommands`. */
const maxCommands = 100
const maxDescriptionChars = 256

/**
 * Telegram lists only names of small letters, digits and _: the name of a command, or else its first alias that fits. Users can
 * still type the other commands.
 */
export function toBotCommands(commands: readonly CommandEntry[]): BotCommand[] {
  return commands
    .flatMap(({ name, aliases = [], description, argsHint }) => {
      const command = [name, ...aliases].find((candidate) => /^[a-z0-9_]{1,32}$/.test(candidate))
      if (command === undefined) return []
      const text = [description, argsHint].filter((part) => part !== '').join(' ')
      return [{ command, description: text === '' ? name : text.slice(0, maxDescriptionChars).toWellFormed() }]
    })
    .slice(0, maxCommands)
}

/** Resolves to `true` when the menu was changed. Throws `ApiError`. */
export async function setBotCommands(
  api: Pick<BotApi, 'call'>,
  commands: readonly CommandEntry[],
  signal: AbortSignal,
): Promise<boolean> {
  const botCommands = toBotCommands(commands)
  if (botCommands.length === 0) return false
  const published = asRecords(await api.call('getMyCommands', {}, signal))
  const current = published.map(({ command, description }) => ({ command, description }))
  if (isDeepStrictEqual(current, botCommands)) return false
  await api.call('setMyCommands', { commands: botCommands }, signal)
  return true
}
