/**
 * Decides whether a shell command may run: never, only with a person's approval, or freely.
 *
 * Decided on the syntax tree, so that prose in quotes trips nothing and quoting tricks hide nothing. What cannot be
 * known before it runs counts as needing approval. This is a seat belt against accidents and crude attacks; a program
 * that the command starts is beyond its sight.
 */

import { type AnalyzeCommandOptions, analyzeCommand, type CommandAnalysis } from './analyze-command.ts'
import { createDenyList } from './deny-list.ts'
import { createProtectedPaths } from './protected-paths.ts'
import { type PolicyDecision, requireApproval } from './rule-match.ts'
import { predefinedVariables } from './variables.ts'

export interface CommandPolicyOptions {
  /** The folder of the gateway (`HERMES_HOME`), absolute. */
  readonly home: string
  /** The home directory of the user, absolute. */
  readonly userHome: string
  /** `approvals.deny`: patterns of commands that never run. */
  readonly deny?: readonly string[]
}

interface EvaluationOptions {
  /** Where the command starts, absolute; relative paths are judged only when it is known. */
  readonly cwd?: string
  /** Something may be typed into it while it runs (a background command). */
  readonly interactive?: boolean
}

export interface CommandPolicy {
  /** Never throws, whatever the text. The strictest finding wins; a `forbidden` one has no way around it. */
  evaluate(command: string, circumstances?: EvaluationOptions): PolicyDecision
}

/** Longer texts are not commands any more; parsing them would only take time. */
const maxChars = 256 * 1024

export function createCommandPolicy({ home, userHome, deny = [] }: CommandPolicyOptions): CommandPolicy {
  const protectedPaths = createProtectedPaths(home, userHome)
  const denied = createDenyList(deny)
  const lookupVariable = predefinedVariables(home, userHome)
  return {
    evaluate(command, { cwd, interactive = false } = {}) {
      if (command.length > maxChars) return requireApproval('too-large', 'is too long to be judged')
      const input = interactive ? ({ kind: 'open' } as const) : ({ kind: 'none' } as const)
      const analysis = tryAnalyzeCommand(command, { protectedPaths, lookupVariable, cwd, input })
      if (analysis === undefined) return requireApproval('too-deep', 'is nested too deeply to be judged')
      return (
        analysis.matches.find((finding) => finding.decision === 'forbidden') ??
        denied([command, ...analysis.commands]) ??
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
