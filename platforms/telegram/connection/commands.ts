/**
 * The gateway's commands in Telegram's own menu, set only when they have changed.
 */
import { isDeepStrictEqual } from 'node:util'
import type { CommandEntry } from '#sdk'
import { asRecords } from '../inbound/payload.ts'
import type { BotApi } from './api.ts'

interface BotCommand {
  readonly command: string
  readonly description: string
}

/** Telegram shows so many, and so much of each. */
const maxCommands = 100
const maxDescriptionChars = 256

/** What Telegram can show: small letters, digits and _; the others work when somebody types them. */
export function toBotCommands(commands: readonly CommandEntry[]): BotCommand[] {
  return commands
    .filter(({ name }) => /^[a-z0-9_]{1,32}$/.test(name))
    .slice(0, maxCommands)
    .map(({ name, description, argsHint }) => {
      const text = [description, argsHint].filter((part) => part !== '').join(' ')
      return { command: name, description: text === '' ? name : text.slice(0, maxDescriptionChars).toWellFormed() }
    })
}

/** Resolves true when the menu was changed. Throws `ApiError`. */
export async function setBotCommands(
  api: BotApi,
  commands: readonly CommandEntry[],
  signal: AbortSignal,
): Promise<boolean> {
  const wanted = toBotCommands(commands)
  if (wanted.length === 0) return false
  const shown = asRecords(await api.call('getMyCommands', {}, signal))
  const known = shown.map(({ command, description }) => ({ command, description }))
  if (isDeepStrictEqual(known, wanted)) return false
  await api.call('setMyCommands', { commands: wanted }, signal)
  return true
}
