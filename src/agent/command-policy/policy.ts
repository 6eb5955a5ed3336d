/**
 * Decides whether a shell command may run: never, only with a person's approval, or freely.
 *
 * Decided on the syntax tree, so that prose in quotes trips nothing and quoting tricks hide nothing. What cannot be
 * known before it runs counts as needing approval. This is a seat belt against accidents and crude attacks; a program
 * that the command starts is beyond its sight.
 */
import { createDenyList } from './deny-list.ts'
import { ask, type Verdict } from './finding.ts'
import { createPlaces } from './places.ts'
import { givenVariables } from './variables.ts'
import { type Walk, type WalkOptions, walkCommand } from './walk.ts'

export interface CommandPolicyOptions {
  /** The folder of the gateway (`HERMES_HOME`), absolute. */
  readonly home: string
  /** The home directory of the user, absolute. */
  readonly userHome: string
  /** `approvals.deny`: patterns of commands that never run. */
  readonly deny?: readonly string[]
}

interface Circumstances {
  /** Where the command starts, absolute; relative paths are judged only when it is known. */
  readonly cwd?: string
  /** Something may be typed into it while it runs (a background command). */
  readonly interactive?: boolean
}

export interface CommandPolicy {
  /** Never throws, whatever the text. The strictest finding wins; a `forbidden` one has no way around it. */
  judge(command: string, circumstances?: Circumstances): Verdict
}

/** Longer texts are not commands any more; parsing them would only take time. */
const maxChars = 256 * 1024

export function createCommandPolicy({ home, userHome, deny = [] }: CommandPolicyOptions): CommandPolicy {
  const places = createPlaces(home, userHome)
  const denied = createDenyList(deny)
  const variable = givenVariables(home, userHome)
  return {
    judge(command, { cwd, interactive = false } = {}) {
      if (command.length > maxChars) return ask('too-large', 'is too long to be judged')
      const input = interactive ? ({ kind: 'open' } as const) : ({ kind: 'none' } as const)
      const walk = walked(command, { places, variable, cwd, input })
      if (walk === undefined) return ask('too-deep', 'is nested too deeply to be judged')
      return (
        walk.findings.find((finding) => finding.verdict === 'forbidden') ??
        denied([command, ...walk.commands]) ??
        walk.findings[0] ?? { verdict: 'allow' }
      )
    },
  }
}

/** Undefined for a text whose nesting exhausts the stack. */
function walked(command: string, options: WalkOptions): Walk | undefined {
  try {
    return walkCommand(command, options)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
