/**
 * The slash commands of the bot, as Discord lists them: registered when they differ from what it knows.
 */
import type { CommandEntry } from '#sdk'
import type { Api } from './api.ts'
import { asObject, isObject, type Json, objectsAt, textAt } from './wire.ts'

/** Discord refuses the whole list when it is longer. */
const commandLimit = 100
const descriptionLimit = 100
const chatInput = 1
const stringOption = 3

/** The list as Discord takes it. Names that it does not take are left out; people can still type them. Pure. */
export function toCommands(entries: readonly CommandEntry[]): readonly Json[] {
  return entries
    .filter(({ name }) => /^[-_\p{L}\p{N}]{1,32}$/u.test(name) && name === name.toLowerCase())
    .slice(0, commandLimit)
    .map(({ name, description, argsHint }) => ({
      name,
      description: described(description, name),
      type: chatInput,
      options:
        argsHint === ''
          ? []
          : [{ type: stringOption, name: 'args', description: described(argsHint, name), required: false }],
    }))
}

/** Returns whether Discord's list was out of date. Rejects as the API does. */
export async function registerCommands(
  api: Pick<Api, 'commands' | 'setCommands'>,
  application: string,
  entries: readonly CommandEntry[],
  signal: AbortSignal,
): Promise<boolean> {
  const wanted = toCommands(entries)
  const known = await api.commands(application, signal)
  if (Array.isArray(known) && isSame(known.filter(isObject), wanted)) return false
  await api.setCommands(application, wanted, signal)
  return true
}

function isSame(known: readonly Json[], wanted: readonly Json[]): boolean {
  const essence = (commands: readonly Json[]) => commands.map((command) => JSON.stringify(essenceOf(command))).sort()
  return essence(known).join('\n') === essence(wanted).join('\n')
}

/** Without what Discord adds: ids, versions, translations. */
function essenceOf(command: Json) {
  const options = objectsAt(command, 'options').map((option) => {
    return [option['type'], textAt(option, 'name'), textAt(option, 'description'), option['required'] === true]
  })
  return [textAt(command, 'name'), textAt(command, 'description'), asObject(command)['type'] ?? chatInput, options]
}

function described(text: string, otherwise: string): string {
  const words = text.trim() === '' ? otherwise : text.trim()
  return words.length <= descriptionLimit ? words : `${words.slice(0, descriptionLimit - 1).toWellFormed()}…`
}
