/**
 * The agent without plugins: nobody has a say at any point.
 */
import type { AgentPoints } from './points.ts'

const done = Promise.resolve()
const nothing = () => undefined

export const noPoints: AgentPoints = {
  sessionStarted: () => done,
  contextFor: async () => '',
  transformAnswer: async (_turn, text) => text,
  answered: () => done,
  ended: () => done,
  holdsDrafts: () => false,
  filterTools: async (_turn, tools) => tools,
  rewriteRequest: async (_facts, request) => request,
  requestStarts: nothing,
  requestEnded: nothing,
  requestFailed: nothing,
  reissue: async () => null,
  streamStarted: nothing,
  streamDelta: nothing,
  streamEnded: nothing,
  beforeTool: async (_facts, args) => ({ kind: 'run', args }),
  afterTool: () => done,
  transformResult: async (_facts, _args, { result }) => result,
  subagentStarted: nothing,
  subagentStopped: nothing,
}
