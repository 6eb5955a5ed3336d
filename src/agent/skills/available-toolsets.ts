/**
 * The toolsets of which a session has a tool, for the conditions of skills.
 */
import { toolsets } from '../toolsets/toolsets.ts'

export function availableToolsets(toolNames: Iterable<string>): ReadonlySet<string> {
  const offered = new Set(toolNames)
  const names = Object.entries(toolsets).filter(([, { tools }]) => tools.some((tool) => offered.has(tool)))
  return new Set(names.map(([name]) => name))
}
