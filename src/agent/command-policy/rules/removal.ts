/**
 * Removing things: rm, find -delete, and what comes near the root.
 */
import type { Call, Rule } from '../call.ts'
import { type Field, literal, startsUnknown, written } from '../field.ts'
import { ask, type Finding, forbid } from '../finding.ts'
import { hasOption, operands } from '../options.ts'
import type { Places } from '../places.ts'

const neverRemoved = forbid('remove-vital', 'removes a system folder, the root or a home with all they hold')
const recursive = ask('remove-recursive', 'removes folders with all they hold')
const nearRoot = ask('remove-system', 'removes a file of the system')
const unknownTarget = ask('remove-unknown', 'removes something that is known only when it runs')

export const removal: Rule = (call, places) => {
  switch (call.name) {
    case 'rm':
    case 'srm':
      return judgeRm(call, places)
    case 'find':
    case 'fd':
      return judgeFind(call, places)
    case 'mv':
      return someVital(operands(call.args).slice(0, -1), call, places)
        ? ask('move-vital', 'moves a system folder or a home away')
        : undefined
    default:
      return undefined
  }
}

function someVital(fields: readonly Field[], { cwd }: Call, places: Places): boolean {
  return fields.some((field) => {
    const path = places.path(field, cwd)
    return path !== undefined && places.isVital(path)
  })
}

function judgeRm(call: Call, places: Places): Finding | undefined {
  const targets = operands(call.args)
  const isRecursive = hasOption(call.args, 'rR', ['recursive'])
  if (isRecursive) return someVital(targets, call, places) ? neverRemoved : recursive
  if (targets.some((field) => startsUnknown(field))) return unknownTarget
  const system = targets.some((field) => {
    const path = places.path(field, call.cwd)
    return path !== undefined && (places.isSystem(path) || places.isVital(path))
  })
  return system ? nearRoot : undefined
}

/** Options of find that choose nothing: with only these, everything is taken. */
const choosesNothing =
  /^-(?:depth|d|delete|xdev|mount|follow|print0?|ignore_readdir_race|noleaf|maxdepth|mindepth|H|L|P|X|E|s|x|exec|execdir|ok|okdir)$/

function judgeFind(call: Call, places: Places): Finding | undefined {
  const words = call.args.map((field) => literal(field) ?? written(field))
  const executes = words.findIndex((word) => /^-(?:exec|execdir|ok|okdir)$/.test(word))
  const removes =
    words.includes('-delete') || (executes >= 0 && /(?:^|\/)(?:rm|shred|unlink)$/.test(words[executes + 1] ?? ''))
  if (!removes) return undefined
  const firstTest = words.findIndex((word) => /^[-(!]/.test(word) && !/^-[HLPO]/.test(word))
  const starts = call.args.slice(0, firstTest).filter((field) => !(literal(field) ?? '').startsWith('-'))
  const tests = (executes >= 0 ? words.slice(firstTest, executes + 1) : words.slice(firstTest)).filter((word) =>
    /^[-(!]/.test(word),
  )
  const takesEverything = tests.every((word) => choosesNothing.test(word) || word === '-type')
  if (takesEverything && someVital(starts, call, places)) return neverRemoved
  return ask('find-delete', 'removes every file that a search finds')
}
