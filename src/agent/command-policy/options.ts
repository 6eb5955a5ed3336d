/**
 * Reading the options of a command the way getopt does, as far as the policy needs it.
 */
import { type Field, literalText } from './field.ts'

/** Whether a short letter (`-rf` has r and f) or a long name (`--recursive`, also shortened) is given. */
export function hasOption(args: readonly Field[], letters: string, names: readonly string[] = []): boolean {
  for (const field of args) {
    const text = literalText(field)
    if (text === '--') return false
    if (text === undefined || !text.startsWith('-')) continue
    if (text.startsWith('--')) {
      const given = text.slice(2).split('=')[0] ?? ''
      if (given.length > 2 && names.some((name) => name.startsWith(given))) return true
    } else if ([...text.slice(1)].some((letter) => letters.includes(letter))) return true
  }
  return false
}

/** The arguments that are not options. Options with a value of their own are not known here: their value counts. */
export function operands(args: readonly Field[]): Field[] {
  const found: Field[] = []
  let only = false
  for (const field of args) {
    const text = literalText(field)
    if (!only && text === '--') only = true
    else if (only || text === undefined || text === '-' || !text.startsWith('-')) found.push(field)
  }
  return found
}

/** The literal arguments; those that are not known are left out. */
export function literalArguments(args: readonly Field[]): string[] {
  return args.map(literalText).filter((text) => text !== undefined)
}
