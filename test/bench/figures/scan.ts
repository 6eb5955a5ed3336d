/**
 * The scan of context files: what it finds in the corpora, and its time for the longest text.
 */
import { scan } from '../../../src/agent/context-files/scan.ts'
import { harmlessTexts } from '../../agent/context-files/harmless-corpus.ts'
import { measureScan } from '../../agent/context-files/measure-scan.ts'
import type { Figure } from '../figure.ts'
import { median } from '../kit/stats.ts'

export const scanFigure: Figure = {
  name: 'scan',
  about: 'what the scan of context files finds, and its time',
  measure: async () => {
    const { attacks, harmless, manuals } = measureScan()
    const text = harmlessTexts.join('\n\n').repeat(20).slice(0, 65_536)
    const times = Array.from({ length: 25 }, () => {
      const begun = process.cpuUsage().user
      scan(text, 'strict')
      return (process.cpuUsage().user - begun) / 1_000
    })
    return [
      {
        name: 'attacks of the corpus that are found',
        measured: attacks.hits,
        unit: 'texts',
        bar: 135,
        atLeast: true,
        note: `of ${attacks.all}; the rest is encoded in other ways or has ordinary words`,
      },
      {
        name: 'harmless texts that are reported',
        measured: harmless.hits,
        unit: 'texts',
        bar: 6,
        note: `of ${harmless.all}; they quote attacks. Of our own manuals ${manuals.length}`,
      },
      {
        name: 'scan of 65,536 characters',
        measured: median(times),
        unit: 'ms',
        bar: 5,
        note: 'processor time, all scopes',
      },
    ]
  },
}
