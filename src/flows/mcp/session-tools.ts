/**
 * Adds the tools of a conversation's own MCP servers to those that the conversation is offered. Loaded with the first of them.
 */
import type { AgentTools } from '../../agent/loop/agent-tools.ts'
import type { LoadedTools } from '../../agent/tools/registry.ts'

interface Offered {
  readonly all: AgentTools
  readonly resolve: LoadedTools['resolve']
}

/** The tools of a session with those of its own servers. A name that exists already keeps its meaning. */
export function withSessionTools(base: Offered, loaded: LoadedTools, sessionTools: AgentTools): Offered {
  const isOwn = (name: string) => base.resolve(name) === undefined && loaded.resolve(name) !== undefined
  const { all } = base
  return {
    resolve: (name) => base.resolve(name) ?? loaded.resolve(name),
    all: {
      ...all,
      schemas: () => {
        const added = sessionTools.schemas().filter(({ name }) => isOwn(name))
        return [...all.schemas(), ...added].sort((a, b) => (a.name < b.name ? -1 : 1))
      },
      prepare: (call) => (isOwn(call.name) ? sessionTools : all).prepare(call),
      factsOf: (name) => (isOwn(name) ? sessionTools : all).factsOf(name),
      canRunInParallel: (calls) => !calls.some(({ name }) => isOwn(name)) && all.canRunInParallel(calls),
    },
  }
}
