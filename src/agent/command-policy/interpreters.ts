/**
 * Interpreters of other languages: `python -c`, `curl … | node`.
 */
import type { Call } from './call.ts'
import { type Field, hasUnknown, literal } from './field.ts'
import { fed, inlineCode, type RunScript, readsInput, unknownText } from './program-text.ts'

interface Interpreter {
  /** Options that bring program text. */
  readonly code: RegExp
  /** Option letters after which the rest of the word is a value. */
  readonly valued: string
  /** An option after which the program is named otherwise. */
  readonly module?: RegExp
}

const interpreters: readonly (readonly [RegExp, Interpreter])[] = [
  [/^(?:python|pypy)[\d.]*$/, { code: /[ce]/, valued: 'mWXQ', module: /^-[a-zA-Z]*m/ }],
  [/^perl[\d.]*$/, { code: /[eEc]/, valued: 'IMmxFDC0' }],
  [/^ruby[\d.]*$/, { code: /[ec]/, valued: 'IrCEFKTWx' }],
  [/^(?:node|nodejs|bun|tsx)$/, { code: /[epc]/, valued: 'rC', module: /^--test/ }],
  [/^php[\d.]*$/, { code: /[rRB]/, valued: 'dfcz' }],
  [/^(?:lua[\d.]*|luajit|Rscript|osascript|elixir|julia|ghc|groovy|scala)$/, { code: /e/, valued: 'l' }],
]

function interpreterOf(name: string): Interpreter | undefined {
  return interpreters.find(([pattern]) => pattern.test(name))?.[1]
}

export const isInterpreter = (name: string) => interpreterOf(name) !== undefined

/** The program text an interpreter runs: from an option, or from its input when no file is named. */
export function judgeInterpreter(call: Call): RunScript[] {
  const interpreter = interpreterOf(call.name)
  return interpreter === undefined ? [] : judgeArguments(call, call.args, interpreter)
}

function judgeArguments(call: Call, args: readonly Field[], interpreter: Interpreter): RunScript[] {
  const [field, ...rest] = args
  const text = literal(field)
  if (readsInput(field)) return fed(call, inlineCode)
  if (text === undefined) return field !== undefined && hasUnknown(field) ? [{ finding: unknownText }] : []
  const option = meaningOf(text, interpreter)
  if (option === 'code') return [{ finding: inlineCode }]
  if (option === 'program') return []
  return judgeArguments(call, option === 'valued' ? rest.slice(1) : rest, interpreter)
}

/** `program`: from here on, the words are the program's own. `valued`: the next word is the option's value. */
function meaningOf(text: string, { code, valued, module }: Interpreter): 'code' | 'program' | 'valued' | 'option' {
  if (!text.startsWith('-') || module?.test(text) === true) return 'program'
  if (/^--(?:eval|print|execute|run)(?:=|$)/.test(text)) return 'code'
  if (/^--?(?:v|V|h|version|help)$/.test(text)) return 'program'
  if (text.startsWith('--')) return 'option'
  if (code.test(lettersBeforeValue(text, valued))) return 'code'
  return text.length === 2 && valued.includes(text.charAt(1)) ? 'valued' : 'option'
}

function lettersBeforeValue(option: string, valued: string): string {
  const letters = [...option.slice(1)]
  const end = letters.findIndex((letter) => valued.includes(letter))
  return letters.slice(0, end < 0 ? letters.length : end).join('')
}
