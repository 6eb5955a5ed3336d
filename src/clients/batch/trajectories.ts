/**
 * Writes the trajectories of a batch: the conversations of its prompts in the form of Hermes' batch runner (ShareGPT), for
 * training and evaluation. They hold what was said and done, and nothing of the prompt around it.
 */
import { resolve } from 'node:path'
import { type ApiAccess, callRoute } from '../../api/client.ts'
import { showTrajectory } from '../../api/routes/sessions.ts'
import type { ApiTrajectory } from '../../api/shapes/sessions.ts'
import { HermesError, isHermesError } from '../../lib/errors.ts'
import { asNumber, asRecord, asString, parseJson } from '../../lib/json.ts'
import type { BatchPrompt } from './read-prompts.ts'
import { type BatchResult, openLineFile, readLines } from './result-file.ts'

export interface TrajectoryWriter {
  /** Appends the trajectory of a prompt that was answered, unless the file has it. Rejects as a request, and `cli/failed`. */
  write(prompt: BatchPrompt, result: BatchResult, signal: AbortSignal): Promise<void>
  /** How many conversations are not stored any more. */
  lost(): number
  close(): Promise<void>
}

/** Each line counts each tool of the gateway, so that all lines have the same columns. */
type KnownTools = readonly { readonly name: string }[]

/** @param file undefined: nothing is written. Throws `cli/usage` for a file of something else. */
export async function openTrajectories(
  file: string | undefined,
  access: ApiAccess,
  batch: string,
  tools: KnownTools,
): Promise<TrajectoryWriter> {
  if (file === undefined) return { write: () => Promise.resolve(), lost: () => 0, close: () => Promise.resolve() }
  const path = resolve(file)
  const written = new Set(
    readLines(path).map((text, index) => {
      const line = parseJson(text)
      if (Array.isArray(asRecord(line)['conversations'])) return keyOfLine(line)
      throw new HermesError('cli/usage', `${path}:${index + 1} is no trajectory.`, { hint: 'Name another file.' })
    }),
  )
  const lines = await openLineFile(path)
  let lost = 0
  return {
    async write(prompt, result, signal) {
      const key = keyOf(batch, result.id, result.attempt)
      if (result.status !== 'done' || written.has(key)) return
      const trajectory = await fetchTrajectory(access, result.session_id, signal)
      if (trajectory === undefined) lost += 1
      else await lines.append(toLine(batch, tools, prompt, result, trajectory))
      written.add(key)
    },
    lost: () => lost,
    close: lines.close,
  }
}

function keyOf(batch: string, id: string, attempt: number): string {
  return JSON.stringify([batch, id, attempt])
}

function keyOfLine(line: unknown): string {
  const { id, metadata } = asRecord(line)
  const { batch, attempt } = asRecord(metadata)
  return keyOf(asString(batch), asString(id), asNumber(attempt))
}

/** Undefined when the conversation is not stored any more. */
async function fetchTrajectory(access: ApiAccess, sessionId: string, signal: AbortSignal) {
  try {
    return await callRoute(access, showTrajectory, { params: { session_id: sessionId }, signal })
  } catch (error) {
    if (isHermesError(error, 'sessions/not-found')) return undefined
    throw error
  }
}

function toLine(
  batch: string,
  tools: KnownTools,
  { line, toolsets, metadata }: BatchPrompt,
  { id, hash, attempt, session_id, model, finished_at, cut_off }: BatchResult,
  { conversations, api_calls, tool_stats }: ApiTrajectory,
) {
  const names = [...new Set([...tools.map(({ name }) => name), ...Object.keys(tool_stats)])].sort()
  const none = { count: 0, success: 0, failure: 0 }
  const stats = names.map((name) => [name, tool_stats[name] ?? none] as const)
  return {
    prompt_index: line - 1,
    id,
    conversations,
    metadata: { ...metadata, batch, line, hash, attempt, session_id, model, timestamp: finished_at },
    completed: true,
    partial: cut_off !== undefined,
    api_calls,
    toolsets_used: toolsets ?? [],
    tool_stats: Object.fromEntries(stats),
    tool_error_counts: Object.fromEntries(stats.map(([name, { failure }]) => [name, failure])),
  }
}
