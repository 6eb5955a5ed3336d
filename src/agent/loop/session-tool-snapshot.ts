/**
 * A session keeps being offered the tools with which it began: another list would change the beginning of every prompt, which
 * the vendor has cached. What a call by name finds is up to the moment.
 */
import { createLruCache } from '../../lib/lru-cache.ts'
import type { ToolSchema } from '../models/provider.ts'
import type { AgentTools } from './agent-tools.ts'

/** Sessions that are remembered; one that was quiet for longer than that gets the tools of the day. */
const maxSessions = 10_000

export function createSessionToolSnapshots(): (sessionId: string, tools: AgentTools) => AgentTools {
  const offered = createLruCache<readonly ToolSchema[]>(maxSessions)
  return (sessionId, tools) => {
    const schemas = offered.get(sessionId) ?? tools.schemas()
    offered.set(sessionId, schemas)
    return { ...tools, schemas: () => schemas }
  }
}
