/**
 * The plugins: those that are wanted and cannot be loaded, those whose folder cannot be used, and what is odd about the rest.
 */
import { z } from 'zod'
import { pluginFolders } from '../../gateway/plugins.ts'
import { cataloguePlugins } from '../../plugins/catalogue.ts'
import { nothingKnown, pluginTroubles, reportsOf } from '../../plugins/report.ts'
import { type Check, type Finding, note, ok, problem } from './finding.ts'

const subject = 'Plugins'

export const checkPlugins: Check = async ({ context: { home }, settings: { config }, daemon }) => {
  const settings = config.current()
  const environment = config.environment().values
  const catalogue = await cataloguePlugins({ roots: pluginFolders(home), settings, environment })
  const reports = reportsOf(catalogue, nothingKnown)
  const troubles = pluginTroubles(reports, catalogue.isWanted)
  const findings: Finding[] = [
    ...troubles.map(({ id, reason }) => problem(subject, `${id} cannot be loaded: ${reason}`, adviceFor(id))),
    ...catalogue.unusable
      .filter(({ id }) => !catalogue.isWanted(id))
      .map(({ reason }) => note(subject, reason, 'Mend it or remove the folder.')),
    ...catalogue.warnings.map((warning) => note(subject, warning)),
    ...reports.flatMap(({ id, warnings }) => warnings.map((warning) => note(subject, `${id}: ${warning}`))),
  ]
  if (daemon !== undefined) {
    const known = new Set(troubles.map(({ id }) => id))
    findings.push(...(await findingsOfDaemon(() => daemon.ask('/api/plugins'), known)))
  }
  if (findings.length > 0) return findings
  const enabled = reports.filter(({ state }) => state === 'enabled')
  return enabled.length === 0 ? [] : [ok(subject, enabled.map(({ id }) => id).join(', '))]
}

function adviceFor(id: string): string {
  return `Mend it, or run hermes plugins disable ${id}.`
}

const answerShape = z.looseObject({
  plugins: z.array(
    z.looseObject({
      id: z.string(),
      state: z.string(),
      reason: z.string(),
    }),
  ),
})

/** What only loading shows. */
async function findingsOfDaemon(ask: () => Promise<unknown>, known: ReadonlySet<string>): Promise<Finding[]> {
  const answer = answerShape.safeParse(await ask())
  if (!answer.success) return []
  return answer.data.plugins
    .filter(({ id, state }) => state === 'failed' && !known.has(id))
    .map(({ id, reason }) => problem(subject, `${id} cannot be loaded: ${reason}`, adviceFor(id)))
}
