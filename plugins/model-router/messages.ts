/**
 * The reply of `/router`.
 */
import type { DailyCounts } from './counters.ts'
import type { RouterSettings } from './settings.ts'

const shownDays = 7

export function formatRouterReport(
  { largeModel, maxShare }: Pick<RouterSettings, 'largeModel' | 'maxShare'>,
  days: readonly (readonly [date: string, day: DailyCounts])[],
): string {
  if (largeModel === '') return 'The router is inactive: `large_model` is not set.'
  const lines = days.slice(0, shownDays).map(([date, { answers, escalated, failed, held }]) => {
    const more = [
      `${answers} responses of small models`,
      `${escalated} escalated`,
      ...(failed === 0 ? [] : [`${failed} of these failed`]),
      ...(held === 0 ? [] : [`${held} uncertain but not escalated`]),
    ]
    return `- ${date}: ${more.join(', ')}`
  })
  const head = `Uncertain responses are escalated to \`${largeModel}\`, at most ${Math.round(maxShare * 100)} % per day.`
  return [head, '', ...(lines.length === 0 ? ['No responses of small models yet.'] : lines)].join('\n')
}
