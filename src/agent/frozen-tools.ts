/**
 * A session keeps being offered the tools with which it began: another list would change the beginning of every prompt, which
 * the vendor has cached. What a call by name finds is up to the moment.
 */
import { createRecent } from '../lib/recent.ts'
import type { ToolSchema } from './provider.ts'
import type { ToolBox } from './tool-batch.ts'

/** Sessions that are remembered; one that was quiet for longer than that gets the tools of the day. */
const maxSessions = 10_000

export function createFrozenTools(): (sessionId: string, tools: ToolBox) => ToolBox {
  const offered = createRecent<readonly ToolSchema[]>(maxSessions)
  return (sessionId, tools) => {
    const schemas = offered.get(sessionId) ?? tools.schemas()
    offered.set(sessionId, schemas)
    return { ...tools, schemas: () => schemas }
  }
}
