/**
 * Why a gateway runs degraded, as texts for its owner. Each part that knows a problem adds a source of its texts.
 */
import type { Pause } from '../../sessions/running-turns.ts'

export type ProblemSource = () => readonly string[]

export interface GatewayProblems {
  /**
   * `sandbox`: why commands have no sandbox; '' when they have one, when none is wanted, and until one was tried. `environment`: why
   * the environment of `terminal.backend` cannot be used; '' when it can, and until it was tried.
   */
  readonly commands: { sandbox: string; environment: string }
  /** The scan of a file of the system prompt has found signs of a prompt injection, by their ids; none when it is clean. */
  fileScanned(path: string, ids: readonly string[]): void
  /** A file of the system prompt was read; undefined when it can be used whole. */
  fileRead(path: string, problem: string | undefined): void
  add(...sources: readonly ProblemSource[]): void
  /** Empty when all is well. */
  degraded(): string[]
}

const maxSuspiciousFiles = 20

export function createGatewayProblems(): GatewayProblems {
  const commands = { sandbox: '', environment: '' }
  const suspiciousFiles = new Map<string, readonly string[]>()
  const unusableFiles = new Map<string, string>()
  const sources: ProblemSource[] = []

  return {
    commands,
    fileScanned(path, ids) {
      if (ids.length === 0) suspiciousFiles.delete(path)
      else if (suspiciousFiles.size < maxSuspiciousFiles) suspiciousFiles.set(path, ids)
    },
    fileRead(path, problem) {
      if (problem === undefined) unusableFiles.delete(path)
      else unusableFiles.set(path, problem)
    },
    add: (...added) => void sources.push(...added),
    degraded() {
      const reasons = sources.flatMap((source) => source())
      for (const [path, ids] of suspiciousFiles)
        reasons.push(`${path} looks like a prompt injection (${ids.join(', ')}); check who wrote it`)
      reasons.push(...unusableFiles.values())
      if (commands.environment !== '') reasons.push(commands.environment)
      if (commands.sandbox !== '')
        reasons.push(`no sandbox: only owners may run commands and write files (${commands.sandbox})`)
      return reasons
    },
  }
}

/** Messages are accepted and wait. */
export function pauseWarnings(pause: Pause | null): readonly string[] {
  if (pause === null) return []
  const since = pause.since === 0 ? '' : ` since ${new Date(pause.since).toISOString()}`
  return [`the agent is paused${since}${pause.reason === '' ? '' : ` (${pause.reason})`}; hermes pause off ends it`]
}

/** New turns wait for model calls that hang. */
export function hungCallsWarnings(blockingCalls: number): readonly string[] {
  return blockingCalls === 0
    ? []
    : [`model: ${blockingCalls} calls without output occupy all concurrent turns (agent.max_concurrent_turns)`]
}
