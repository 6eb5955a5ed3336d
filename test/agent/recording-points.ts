/**
 * The points of an agent with everything that is asked and told written down, in order.
 */
import { noPoints } from '../../src/agent/no-points.ts'
import type { AgentPoints, RequestEnding, RequestFacts, RequestFailure, ToolEnding } from '../../src/agent/points.ts'
import type { JsonObject, ModelRequest } from '../../src/agent/provider.ts'
import type { Trace } from '../../src/middleware/contract.ts'

export interface Told {
  readonly facts: RequestFacts
  readonly request: ModelRequest
  readonly trace: Trace
}

export interface RecordingPoints extends AgentPoints {
  /** The names of the points, in the order in which they were reached. */
  readonly heard: readonly string[]
  readonly starts: readonly Told[]
  readonly endings: readonly (Told & RequestEnding)[]
  readonly failures: readonly (Told & RequestFailure)[]
  readonly toolEndings: readonly (ToolEnding & { readonly args: JsonObject; readonly trace: Trace })[]
  /** What streams have shown, a `|` at the end of each. */
  readonly streamed: () => string
}

/** @param answers what plugins say at the points where they have a say */
export function recordingPoints(answers: Partial<AgentPoints> = {}): RecordingPoints {
  const heard: string[] = []
  const starts: Told[] = []
  const endings: (Told & RequestEnding)[] = []
  const failures: (Told & RequestFailure)[] = []
  const toolEndings: (ToolEnding & { args: JsonObject; trace: Trace })[] = []
  let streamed = ''
  const asked = { ...noPoints, ...answers }
  return {
    heard,
    starts,
    endings,
    failures,
    toolEndings,
    streamed: () => streamed,
    async sessionStarted(turn) {
      heard.push('session start')
      await asked.sessionStarted(turn)
    },
    async contextFor(turn, about) {
      heard.push('context')
      return asked.contextFor(turn, about)
    },
    async transformAnswer(turn, text) {
      heard.push('transform')
      return asked.transformAnswer(turn, text)
    },
    async answered(turn, about) {
      heard.push('answered')
      await asked.answered(turn, about)
    },
    async ended(turn, how) {
      heard.push('session end')
      await asked.ended(turn, how)
    },
    holdsDrafts: () => asked.holdsDrafts(),
    filterTools: (turn, tools) => asked.filterTools(turn, tools),
    rewriteRequest: (facts, request) => asked.rewriteRequest(facts, request),
    requestStarts(facts, request, trace) {
      heard.push('request')
      starts.push({ facts, request, trace })
    },
    requestEnded(facts, request, trace, ending) {
      heard.push('response')
      endings.push({ facts, request, trace, ...ending })
    },
    requestFailed(facts, request, trace, failure) {
      heard.push('failure')
      failures.push({ facts, request, trace, ...failure })
    },
    reissue: (facts, request, response) => asked.reissue(facts, request, response),
    streamStarted: () => undefined,
    streamDelta(_facts, _kind, delta) {
      streamed += delta
    },
    streamEnded(_facts, _text, error) {
      streamed += error === null ? '|' : `(${error})|`
    },
    async beforeTool(facts, args, trace) {
      heard.push('before tool')
      return asked.beforeTool(facts, args, trace)
    },
    async afterTool(_facts, args, trace, ending) {
      heard.push('after tool')
      toolEndings.push({ args, trace, ...ending })
    },
    transformResult: (facts, args, ending) => asked.transformResult(facts, args, ending),
    subagentStarted(parent, child) {
      heard.push('child start')
      asked.subagentStarted(parent, child)
    },
    subagentStopped(parent, child, ending) {
      heard.push('child stop')
      asked.subagentStopped(parent, child, ending)
    },
  }
}
