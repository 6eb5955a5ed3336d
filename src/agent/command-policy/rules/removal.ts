/**
 * Removing things: rm, find -delete, and what comes near the root.
 */

import { type Field, literalText, sourceText, startsUnknown } from '../field.ts'
import { hasOption, operands } from '../options.ts'
import type { ProtectedPaths } from '../protected-paths.ts'
import { forbid, type RuleMatch, requireApproval } from '../rule-match.ts'
import type { CommandRule, SimpleCommand } from '../simple-command.ts'

const removesCritical = forbid('remove-vital', 'removes a system folder, the root or a home with all they hold')
const removesRecursively = requireApproval('remove-recursive', 'removes folders with all they hold')
const removesSystemFile = requireApproval('remove-system', 'removes a file of the system')
const removesUnknown = requireApproval('remove-unknown', 'removes something that is known only when it runs')

export const removal: CommandRule = (call, places) => {
  switch (call.name) {
    case 'rm':
    case 'srm':
      return checkRm(call, places)
    case 'find':
    case 'fd':
      return checkFind(call, places)
    case 'mv':
      return someCritical(operands(call.args).slice(0, -1), call, places)
        ? requireApproval('move-vital', 'moves a system folder or a home away')
        : undefined
    default:
      return undefined
  }
}

function someCritical(fields: readonly Field[], { cwd }: SimpleCommand, places: ProtectedPaths): boolean {
  return fields.some((field) => {
    const path = places.toPattern(field, cwd)
    return path !== undefined && places.isCritical(path)
  })
}

function checkRm(call: SimpleCommand, places: ProtectedPaths): RuleMatch | undefined {
  const targets = operands(call.args)
  const isRecursive = hasOption(call.args, 'rR', ['recursive'])
  if (isRecursive) return someCritical(targets, call, places) ? removesCritical : removesRecursively
  if (targets.some((field) => startsUnknown(field))) return removesUnknown
  const system = targets.some((field) => {
    const path = places.toPattern(field, call.cwd)
    return path !== undefined && (places.isSystem(path) || places.isCritical(path))
  })
  return system ? removesSystemFile : undefined
}

/** Options of find that choose nothing: with only these, everything is taken. */
const choosesNothing =
  /^-(?:depth|d|delete|xdev|mount|follow|print0?|ignore_readdir_race|noleaf|maxdepth|mindepth|H|L|P|X|E|s|x|exec|execdir|ok|okdir)$/

function checkFind(call: SimpleCommand, places: ProtectedPaths): RuleMatch | undefined {
  const words = call.args.map((field) => literalText(field) ?? sourceText(field))
  const executes = words.findIndex((word) => /^-(?:exec|execdir|ok|okdir)$/.test(word))
  const removes =
    words.includes('-delete') || (executes >= 0 && /(?:^|\/)(?:rm|shred|unlink)$/.test(words[executes + 1] ?? ''))
  if (!removes) return undefined
  const firstTest = words.findIndex((word) => /^[-(!]/.test(word) && !/^-[HLPO]/.test(word))
  const starts = call.args.slice(0, firstTest).filter((field) => !(literalText(field) ?? '').startsWith('-'))
  const tests = (executes >= 0 ? words.slice(firstTest, executes + 1) : words.slice(firstTest)).filter((word) =>
    /^[-(!]/.test(word),
  )
  const takesEverything = tests.every((word) => choosesNothing.test(word) || word === '-type')
  if (takesEverything && someCritical(starts, call, places)) return removesCritical
  return requireApproval('find-delete', 'removes every file that a search finds')
}
