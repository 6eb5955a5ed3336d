/**
 * Checks the plugins: enabled ones that cannot be loaded, invalid directories, and warnings.
 */
import { callRoute } from '../../api/client.ts'
import { listPlugins } from '../../api/routes/extensions.ts'
import { pluginDirectories } from '../../app/plugin-directories.ts'
import { cataloguePlugins } from '../../plugins/catalogue.ts'
import { createPluginReports, emptyRuntimeState, pluginFailures } from '../../plugins/plugin-report.ts'
import type { Daemon } from '../kit/daemon.ts'
import { withMissingPackages } from '../shared/known-plugins.ts'
import { type Check, type CheckResult, note, ofAnotherVersion, ok, problem } from './check-result.ts'

const subject = 'Plugins'

export const checkPlugins: Check = async ({ context: { home }, settings, daemon }) => {
  const { config } = settings
  const environment = config.environment().values
  const catalogue = await cataloguePlugins(pluginDirectories(home), config.current(), environment)
  const reports = await withMissingPackages(createPluginReports(catalogue, emptyRuntimeState), settings)
  const failures = pluginFailures(reports, catalogue.isEnabled)
  const findings: CheckResult[] = [
    ...failures.map(({ id, state, reason }) =>
      problem(subject, `${id} cannot be loaded: ${reason}`, adviceFor(id, state)),
    ),
    ...catalogue.invalid
      .filter(({ id }) => !catalogue.isEnabled(id))
      .map(({ reason }) => note(subject, reason, 'Fix it or remove the directory.')),
    ...catalogue.warnings.map((warning) => note(subject, warning)),
    ...reports.flatMap(({ id, warnings }) => warnings.map((warning) => note(subject, `${id}: ${warning}`))),
  ]
  if (daemon !== undefined) {
    const known = new Set(failures.map(({ id }) => id))
    findings.push(...(await resultsOfDaemon(daemon, known).catch(ofAnotherVersion)))
  }
  if (findings.length > 0) return findings
  const enabled = reports.filter(({ state }) => state === 'enabled')
  return enabled.length === 0 ? [] : [ok(subject, enabled.map(({ id }) => id).join(', '))]
}

function adviceFor(id: string, state: string): string {
  return state === 'missing'
    ? 'Correct plugins.enabled, or install the plugin.'
    : `Fix it, or run hermes plugins disable ${id}.`
}

/** Failures that only occur when a plugin is loaded or reloaded. */
async function resultsOfDaemon(daemon: Daemon, known: ReadonlySet<string>): Promise<CheckResult[]> {
  const { plugins } = await callRoute(daemon, listPlugins, {})
  return plugins.flatMap(({ id, state, reason, problem: newest }) => {
    if (known.has(id)) return []
    if (state === 'failed') return [problem(subject, `${id} cannot be loaded: ${reason}`, adviceFor(id, state))]
    return newest === '' ? [] : [problem(subject, `${id} still runs its previous version: ${newest}`, 'Fix its files.')]
  })
}
