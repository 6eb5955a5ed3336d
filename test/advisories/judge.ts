/**
 * Reads the report of `npm audit --json` about what is shipped. A registry that does not answer is no failure: it says nothing about
 * the packages.
 */
import { z } from 'zod'
import { parseJson } from '../../src/lib/json.ts'

const counts = z.object({ low: z.number(), moderate: z.number(), high: z.number(), critical: z.number() })
const via = z.union([z.string(), z.looseObject({ title: z.string(), url: z.string().default('') })])
const reportShape = z.object({
  metadata: z.object({ vulnerabilities: counts }),
  vulnerabilities: z.record(z.string(), z.looseObject({ severity: z.string(), range: z.string(), via: z.array(via) })),
})

export interface Judgement {
  /** `refused`: a package has an advisory of high or critical severity. `unknown`: there is no report. */
  readonly kind: 'passed' | 'refused' | 'unknown'
  readonly lines: readonly string[]
}

export function judgeReport(output: string): Judgement {
  const value = parseJson(output)
  const parsed = reportShape.safeParse(value)
  if (!parsed.success) {
    const { message } = z.looseObject({ message: z.string() }).catch({ message: 'no report' }).parse(value)
    return { kind: 'unknown', lines: [`The advisories could not be read, so they were not checked: ${message}`] }
  }
  const { vulnerabilities, metadata } = parsed.data
  const { high, critical } = metadata.vulnerabilities
  const lines = Object.entries(vulnerabilities).map(([name, { severity, range, via: causes }]) => {
    const titles = causes.map((cause) =>
      typeof cause === 'string' ? `through ${cause}` : `${cause.title} ${cause.url}`,
    )
    return `${severity}: ${name} ${range}: ${titles.join('; ')}`
  })
  return { kind: high + critical > 0 ? 'refused' : 'passed', lines }
}
