/**
 * A session is offered the tools with which it began: another list would change the beginning of every prompt, which the
 * vendor has cached. A call by name uses the current tools.
 */
import { createLruCache } from '../../lib/lru-cache.ts'
import type { ToolSchema } from '../models/provider.ts'
import type { AgentTools } from './agent-tools.ts'

/** Sessions that are remembered. A session that is no longer remembered is offered the current tools. */
const maxSessions = 10_000

export function createSessionToolSnapshots(): (sessionId: string, tools: AgentTools) => AgentTools {
  const offered = createLruCache<readonly ToolSchema[]>(maxSessions)
  return (sessionId, tools) => {
    const current = tools.schemas()
    const schemas = offered.get(sessionId)
    if (schemas === undefined) offered.set(sessionId, current)
    return schemas === undefined || schemas === current ? tools : { ...tools, schemas: () => schemas }
  }
}
