/**
 * Decides whether a shell command may run: never, only with a user's approval, or freely. README.md describes the limits.
 *
 * The decision is made on the syntax tree, so that quoted prose causes no match and quoting does not hide a command.
 * Text that is known only at run time needs approval.
 */
import { toOneLine } from '../../lib/visible-text.ts'
import { type AnalyzeCommandOptions, analyzeCommand, type CommandAnalysis } from './analyze-command.ts'
import { predefinedVariables } from './expand-word.ts'
import { createProtectedPaths } from './protected-paths.ts'
import { forbid, type PolicyDecision, type RuleMatch, requireApproval } from './rule.ts'
import { hermesForOwner } from './rules/system.ts'

interface CommandPolicyOptions {
  /** The directory of the gateway (`HERMES_HOME`), absolute. */
  readonly home: string
  /** The home directory of the user, absolute. */
  readonly userHome: string
  /** Patterns of commands that never run. Read for each command, so that a change applies at once. */
  readonly settings?: () => { readonly approvals: { readonly deny: readonly string[] } }
}

interface EvaluationOptions {
  /** The working directory, absolute. Without it relative paths are not checked. */
  readonly cwd?: string
  /** Whether the agent may write to its input while it runs (a background command). */
  readonly interactive?: boolean
  /** Whether `hermes` speaks for the person of the turn there and refuses what only an owner may do, as in the sandbox. */
  readonly limitsHermes?: boolean
}

export interface CommandPolicy {
  /** Never throws. The strictest match wins; no approval allows a `forbidden` command. */
  evaluate(command: string, options?: EvaluationOptions): PolicyDecision
}

/** Longer texts, and texts with more words or substitutions, would hold the event loop while they are parsed. */
const maxChars = 32 * 1024
const maxWords = 2_000
const maxSubstitutions = 2_000

const noPatterns: readonly string[] = []

const tooLarge = requireApproval('too-large', 'is too long to be checked')

export function createCommandPolicy({ home, userHome, settings }: CommandPolicyOptions): CommandPolicy {
  const denied = () => settings?.().approvals.deny ?? noPatterns
  const protectedPaths = createProtectedPaths(home, userHome)
  const matchDenyList = createDenyList(denied)
  const lookupVariable = predefinedVariables(home, userHome)
  // A call is judged when it is admitted and again when it runs.
  let last: { readonly key: readonly unknown[]; readonly decision: PolicyDecision } | undefined

  function evaluate(
    command: string,
    { cwd, interactive = false, limitsHermes = false }: EvaluationOptions,
  ): PolicyDecision {
    if (hasTooManySubstitutions(command)) return tooLarge
    const input = interactive ? ({ kind: 'open' } as const) : ({ kind: 'none' } as const)
    // The beginning of a long text is checked, so that length does not make a forbidden command approvable.
    const checked = checkablePart(command)
    const analysis = tryAnalyzeCommand(checked, { protectedPaths, lookupVariable, cwd, input })
    if (analysis === undefined) return requireApproval('too-deep', 'is nested too deeply to be checked')
    const matches = limitsHermes ? analysis.matches.filter(({ rule }) => rule !== hermesForOwner) : analysis.matches
    return (
      matches.find((match) => match.decision === 'forbidden') ??
      matchDenyList([command, ...analysis.commands]) ??
      (checked.length < command.length ? tooLarge : undefined) ??
      matches.find(({ rule }) => isUnchecked(rule)) ??
      matches[0] ?? { decision: 'allow' }
    )
  }

  return {
    evaluate(command, options = {}) {
      const key = [command, options.cwd, options.interactive, options.limitsHermes, denied()]
      if (last?.key.every((part, index) => part === key[index])) return last.decision
      const decision = evaluate(command, options)
      last = { key, decision }
      return decision
    },
  }
}

/** Whether a rule means that the command was not checked completely: a `forbidden` part may have been missed. */
export function isUnchecked(rule: string): boolean {
  return rule === 'too-large' || rule === 'too-deep'
}

/** The beginning of a text, up to the limits. Takes linear time. */
function checkablePart(command: string): string {
  if (command.length <= maxWords) return command
  const text = command.slice(0, maxChars)
  let words = 0
  for (const { index } of text.matchAll(/[^\s;&|<>()]+/g)) {
    words += 1
    if (words > maxWords) return text.slice(0, index)
  }
  return text
}

/** The parser takes time proportional to the square of the nesting. */
function hasTooManySubstitutions(command: string): boolean {
  let count = 0
  for (const _ of command.matchAll(/`|[$<>@]\(|<</g)) {
    count += 1
    if (count > maxSubstitutions) return true
  }
  return false
}

/** Undefined for a text whose nesting exhausts the stack. */
function tryAnalyzeCommand(command: string, options: AnalyzeCommandOptions): CommandAnalysis | undefined {
  try {
    return analyzeCommand(command, options)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Returns a match when a pattern matches the whole of one of the variants. */
type DenyList = (variants: Iterable<string>) => RuleMatch | undefined

/**
 * The user's list of commands that never run. In a pattern `*` matches any text and `?` any character; case is ignored.
 * The variants of a command are its text and each simple command in it.
 */
function createDenyList(patterns: () => readonly string[]): DenyList {
  let source: readonly string[] | undefined
  let compiled: readonly { readonly pattern: string; readonly text: string }[] = []
  return (variants) => {
    const current = patterns()
    if (current !== source) {
      source = current
      compiled = current.map((pattern) => ({ pattern, text: normalize(pattern) }))
    }
    if (compiled.length === 0) return undefined
    for (const variant of new Set([...variants].map(normalize))) {
      const hit = compiled.find(({ text }) => matchesWildcards(variant, text))
      if (hit !== undefined) return forbid('denied', `is on the list of denied commands (${hit.pattern})`)
    }
    return undefined
  }
}

const normalize = (text: string) => toOneLine(text).toLowerCase()

/**
 * Finds the parts between the stars from left to right, each at its first position. A regular expression with several stars
 * could take much longer, and the text comes from the model.
 */
export function matchesWildcards(text: string, pattern: string): boolean {
  const parts = pattern.split('*')
  const [head = '', ...rest] = parts
  const tail = rest.pop()
  if (tail === undefined) return text.length === head.length && matchesAt(text, head, 0)
  if (text.length < head.length + tail.length) return false
  if (!matchesAt(text, head, 0) || !matchesAt(text, tail, text.length - tail.length)) return false
  let at = head.length
  const end = text.length - tail.length
  for (const part of rest) {
    const position = findPart(text, part, at, end)
    if (position === -1) return false
    at = position + part.length
  }
  return at <= end
}

function findPart(text: string, part: string, from: number, end: number): number {
  if (!part.includes('?')) {
    const position = text.indexOf(part, from)
    return position + part.length > end ? -1 : position
  }
  for (let at = from; at + part.length <= end; at++) if (matchesAt(text, part, at)) return at
  return -1
}

/** `?` is any character. */
function matchesAt(text: string, part: string, at: number): boolean {
  if (!part.includes('?')) return text.startsWith(part, at)
  for (let index = 0; index < part.length; index++)
    if (part[index] !== '?' && part[index] !== text[at + index]) return false
  return true
}

/** What a container contains needs no question (Hermes asks none there). What is forbidden stays forbidden. */
export function decideForEnvironment(
  judged: PolicyDecision,
  { isContainer }: { readonly isContainer?: boolean | undefined },
): PolicyDecision {
  return isContainer === true && judged.decision === 'needs-approval' ? { decision: 'allow' } : judged
}
