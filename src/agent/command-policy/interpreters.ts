/**
 * Interpreters of other languages: `python -c`, `curl … | node`.
 */

import { type EmbeddedScript, inlineCode, readsStdin, scriptsFromInput, unknownScript } from './embedded-script.ts'
import { type Field, hasUnknown, literalText } from './field.ts'
import type { SimpleCommand } from './simple-command.ts'

interface Interpreter {
  /** Options that bring program text. */
  readonly codeOptions: RegExp
  /** Option letters after which the rest of the word is a value. */
  readonly valueOptions: string
  /** An option after which the program is named otherwise. */
  readonly programOption?: RegExp
}

const interpreters: readonly (readonly [RegExp, Interpreter])[] = [
  [/^(?:python|pypy)[\d.]*$/, { codeOptions: /[ce]/, valueOptions: 'mWXQ', programOption: /^-[a-zA-Z]*m/ }],
  [/^perl[\d.]*$/, { codeOptions: /[eEc]/, valueOptions: 'IMmxFDC0' }],
  [/^ruby[\d.]*$/, { codeOptions: /[ec]/, valueOptions: 'IrCEFKTWx' }],
  [/^(?:node|nodejs|bun|tsx)$/, { codeOptions: /[epc]/, valueOptions: 'rC', programOption: /^--test/ }],
  [/^php[\d.]*$/, { codeOptions: /[rRB]/, valueOptions: 'dfcz' }],
  [/^(?:lua[\d.]*|luajit|Rscript|osascript|elixir|julia|ghc|groovy|scala)$/, { codeOptions: /e/, valueOptions: 'l' }],
]

function findInterpreter(name: string): Interpreter | undefined {
  return interpreters.find(([pattern]) => pattern.test(name))?.[1]
}

export const isInterpreter = (name: string) => findInterpreter(name) !== undefined

/** The program text an interpreter runs: from an option, or from its input when no file is named. */
export function interpreterScripts(call: SimpleCommand): EmbeddedScript[] {
  const interpreter = findInterpreter(call.name)
  return interpreter === undefined ? [] : scriptsInArguments(call, call.args, interpreter)
}

function scriptsInArguments(call: SimpleCommand, args: readonly Field[], interpreter: Interpreter): EmbeddedScript[] {
  const [field, ...rest] = args
  const text = literalText(field)
  if (readsStdin(field)) return scriptsFromInput(call, inlineCode)
  if (text === undefined) return field !== undefined && hasUnknown(field) ? [{ match: unknownScript }] : []
  const option = classifyOption(text, interpreter)
  if (option === 'code') return [{ match: inlineCode }]
  if (option === 'program') return []
  return scriptsInArguments(call, option === 'valued' ? rest.slice(1) : rest, interpreter)
}

/** `program`: from here on, the words are the program's own. `valued`: the next word is the option's value. */
function classifyOption(
  text: string,
  { codeOptions, valueOptions, programOption }: Interpreter,
): 'code' | 'program' | 'valued' | 'option' {
  if (!text.startsWith('-') || programOption?.test(text) === true) return 'program'
  if (/^--(?:eval|print|execute|run)(?:=|$)/.test(text)) return 'code'
  if (/^--?(?:v|V|h|version|help)$/.test(text)) return 'program'
  if (text.startsWith('--')) return 'option'
  if (codeOptions.test(lettersBeforeValue(text, valueOptions))) return 'code'
  return text.length === 2 && valueOptions.includes(text.charAt(1)) ? 'valued' : 'option'
}

function lettersBeforeValue(option: string, valued: string): string {
  const letters = [...option.slice(1)]
  const end = letters.findIndex((letter) => valued.includes(letter))
  return letters.slice(0, end < 0 ? letters.length : end).join('')
}
