/**
 * The gateway's commands in Telegram's own menu, set only when they have changed.
 */
import { isDeepStrictEqual } from 'node:util'
import type { CommandEntry } from '#sdk'
import type { BotApi } from './bot-api.ts'
import { listOf } from './fields.ts'

interface MenuEntry {
  readonly command: string
  readonly description: string
}

/** Telegram shows so many, and so much of each. */
const mostCommands = 100
const mostCharacters = 256

/** What Telegram can show: small letters, digits and _; the others work when somebody types them. */
export function menuOf(commands: readonly CommandEntry[]): MenuEntry[] {
  return commands
    .filter(({ name }) => /^[a-z0-9_]{1,32}$/.test(name))
    .slice(0, mostCommands)
    .map(({ name, description, argsHint }) => {
      const text = [description, argsHint].filter((part) => part !== '').join(' ')
      return { command: name, description: text === '' ? name : text.slice(0, mostCharacters).toWellFormed() }
    })
}

/** Resolves true when the menu was changed. Throws `ApiFault`. */
export async function updateMenu(
  api: BotApi,
  commands: readonly CommandEntry[],
  signal: AbortSignal,
): Promise<boolean> {
  const wanted = menuOf(commands)
  if (wanted.length === 0) return false
  const shown = listOf(await api.call('getMyCommands', {}, signal))
  const known = shown.map(({ command, description }) => ({ command, description }))
  if (isDeepStrictEqual(known, wanted)) return false
  await api.call('setMyCommands', { commands: wanted }, signal)
  return true
}
