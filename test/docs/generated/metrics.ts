/**
 * Generates the table of metrics from the code that counts them.
 */
import { createModelCallMonitor } from '../../../src/agent/models/model-call-monitor.ts'
import { startMetrics } from '../../../src/flows/metrics/gateway-metrics.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { table } from './table.ts'

export async function metrics(): Promise<string> {
  const counting = startMetrics({
    version: '',
    queues: async () => ({ messages: { count: 0, oldestAt: null }, replies: { open: 0, dead: 0, oldestAt: null } }),
    clock: () => 0,
    events: { observe: () => () => undefined },
    modelCalls: createModelCallMonitor({ log: silentLog }),
    hooks: { list: () => [] },
    engine: { load: () => ({ running: 0, waiting: 0 }) },
    platforms: { health: () => ({}) },
  })
  const rows = (await counting.read()).map(({ spec: { name, help, labels = [] }, type }) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(', '),
    help,
  ])
  counting.stop()
  return table(['Metric', 'Type', 'Labels', 'What it is'], rows)
}
