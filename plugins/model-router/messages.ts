/**
 * What `/router` says.
 */

import type { DailyCounts } from './counters.ts'
import type { RouterSettings } from './settings.ts'

const shownDays = 7

export function formatRouterReport(
  { largeModel, maxShare }: Pick<RouterSettings, 'largeModel' | 'maxShare'>,
  days: readonly (readonly [date: string, day: DailyCounts])[],
): string {
  if (largeModel === '') return 'The router does nothing: `large_model` is not set in its settings.'
  const lines = days.slice(0, shownDays).map(([date, { answers, escalated, failed, held }]) => {
    const more = [
      `${answers} answers of small models`,
      `${escalated} asked for once more`,
      ...(failed === 0 ? [] : [`${failed} of these in vain`]),
      ...(held === 0 ? [] : [`${held} unsure ones left as they were`]),
    ]
    return `- ${date}: ${more.join(', ')}`
  })
  const head = `Unsure answers are asked for once more of \`${largeModel}\`, at most ${Math.round(maxShare * 100)} % of a day.`
  return [head, '', ...(lines.length === 0 ? ['No answer of a small model yet.'] : lines)].join('\n')
}
