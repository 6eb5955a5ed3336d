/**
 * Decides whether a shell command may run: never, only with a user's approval, or freely. README.md describes the limits.
 *
 * The decision is made on the syntax tree, so that quoted prose causes no match and quoting does not hide a command.
 * Text that is known only at run time needs approval.
 */
import { type AnalyzeCommandOptions, analyzeCommand, type CommandAnalysis } from './analyze-command.ts'
import { predefinedVariables } from './expand-word.ts'
import { createProtectedPaths } from './protected-paths.ts'
import { forbid, type PolicyDecision, type RuleMatch, requireApproval } from './rule.ts'

export interface CommandPolicyOptions {
  /** The directory of the gateway (`HERMES_HOME`), absolute. */
  readonly home: string
  /** The home directory of the user, absolute. */
  readonly userHome: string
  /** `approvals.deny`: patterns of commands that never run. */
  readonly deny?: readonly string[]
}

interface EvaluationOptions {
  /** The working directory, absolute. Without it relative paths are not checked. */
  readonly cwd?: string
  /** Whether the agent may write to its input while it runs (a background command). */
  readonly interactive?: boolean
}

export interface CommandPolicy {
  /** Never throws. The strictest match wins; no approval allows a `forbidden` command. */
  evaluate(command: string, options?: EvaluationOptions): PolicyDecision
}

/** A longer text is not a plausible command, and parsing it takes time. */
const maxChars = 256 * 1024

export function createCommandPolicy({ home, userHome, deny = [] }: CommandPolicyOptions): CommandPolicy {
  const protectedPaths = createProtectedPaths(home, userHome)
  const matchDenyList = createDenyList(deny)
  const lookupVariable = predefinedVariables(home, userHome)
  return {
    evaluate(command, { cwd, interactive = false } = {}) {
      if (command.length > maxChars) return requireApproval('too-large', 'is too long to be checked')
      const input = interactive ? ({ kind: 'open' } as const) : ({ kind: 'none' } as const)
      const analysis = tryAnalyzeCommand(command, { protectedPaths, lookupVariable, cwd, input })
      if (analysis === undefined) return requireApproval('too-deep', 'is nested too deeply to be checked')
      return (
        analysis.matches.find((match) => match.decision === 'forbidden') ??
        matchDenyList([command, ...analysis.commands]) ??
        analysis.matches[0] ?? { decision: 'allow' }
      )
    },
  }
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
function createDenyList(patterns: readonly string[]): DenyList {
  const compiled = patterns.map((pattern) => ({ pattern, characters: normalize(pattern) }))
  return (variants) => {
    if (compiled.length === 0) return undefined
    for (const variant of variants) {
      const text = normalize(variant)
      const hit = compiled.find(({ characters }) => matchesWildcards(text, characters))
      if (hit !== undefined) return forbid('denied', `is on the list of denied commands (${hit.pattern})`)
    }
    return undefined
  }
}

const normalize = (text: string) => [...text.trim().replace(/\s+/g, ' ').toLowerCase()]

/**
 * Matches in time proportional to the product of the lengths. A regular expression with several stars could take much
 * longer, and the text comes from the model.
 */
function matchesWildcards(text: readonly string[], pattern: readonly string[]): boolean {
  let at = 0
  let position = 0
  let star = -1
  let starAt = 0
  while (at < text.length) {
    if (pattern[position] === '*') {
      star = position
      starAt = at
      position += 1
    } else if (pattern[position] === '?' || pattern[position] === text[at]) {
      position += 1
      at += 1
    } else if (star >= 0) {
      // The last star takes one more character.
      starAt += 1
      at = starAt
      position = star + 1
    } else return false
  }
  while (pattern[position] === '*') position += 1
  return position === pattern.length
}
