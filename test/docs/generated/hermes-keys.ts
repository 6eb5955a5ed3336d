/**
 * Generates the table of the keys of Hermes that have no effect here, with the reasons.
 */
import { unusedKeys } from '../../../src/config/unused-keys.ts'
import { table } from './table.ts'

export function hermesKeys(): string {
  const byReason = Map.groupBy(unusedKeys, ({ kind, reason }) => `${kind} ${reason}`)
  const rows = [...byReason.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const keys = group.map(({ key }) => `\`${key}\``).join(', ')
    return [
      [keys, `${first.reason}${first.kind === 'security' ? ' (the gateway is degraded while a file has it)' : ''}`],
    ]
  })
  return table(['Key', 'Why it has no effect'], rows)
}
