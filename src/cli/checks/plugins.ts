/**
 * The plugins: those that are wanted and cannot be loaded, those whose folder cannot be used, and what is odd about the rest.
 */
import { z } from 'zod'
import { pluginDirectories } from '../../app/compose-plugins.ts'
import { cataloguePlugins } from '../../plugins/catalogue.ts'
import { createPluginReports, emptyRuntimeState, pluginFailures } from '../../plugins/plugin-report.ts'
import { type Check, type CheckResult, note, ok, problem } from './check-result.ts'

const subject = 'Plugins'

export const checkPlugins: Check = async ({ context: { home }, settings: { config }, daemon }) => {
  const settings = config.current()
  const environment = config.environment().values
  const catalogue = await cataloguePlugins({ roots: pluginDirectories(home), settings, environment })
  const reports = createPluginReports(catalogue, emptyRuntimeState)
  const troubles = pluginFailures(reports, catalogue.isEnabled)
  const findings: CheckResult[] = [
    ...troubles.map(({ id, reason }) => problem(subject, `${id} cannot be loaded: ${reason}`, adviceFor(id))),
    ...catalogue.invalid
      .filter(({ id }) => !catalogue.isEnabled(id))
      .map(({ reason }) => note(subject, reason, 'Mend it or remove the folder.')),
    ...catalogue.warnings.map((warning) => note(subject, warning)),
    ...reports.flatMap(({ id, warnings }) => warnings.map((warning) => note(subject, `${id}: ${warning}`))),
  ]
  if (daemon !== undefined) {
    const known = new Set(troubles.map(({ id }) => id))
    findings.push(...(await resultsOfDaemon(() => daemon.request('/api/plugins'), known)))
  }
  if (findings.length > 0) return findings
  const enabled = reports.filter(({ state }) => state === 'enabled')
  return enabled.length === 0 ? [] : [ok(subject, enabled.map(({ id }) => id).join(', '))]
}

function adviceFor(id: string): string {
  return `Mend it, or run hermes plugins disable ${id}.`
}

const responseSchema = z.looseObject({
  plugins: z.array(
    z.looseObject({
      id: z.string(),
      state: z.string(),
      reason: z.string(),
    }),
  ),
})

/** What only loading shows. */
async function resultsOfDaemon(ask: () => Promise<unknown>, known: ReadonlySet<string>): Promise<CheckResult[]> {
  const answer = responseSchema.safeParse(await ask())
  if (!answer.success) return []
  return answer.data.plugins
    .filter(({ id, state }) => state === 'failed' && !known.has(id))
    .map(({ id, reason }) => problem(subject, `${id} cannot be loaded: ${reason}`, adviceFor(id)))
}
