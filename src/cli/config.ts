/**
 * `hermes config`: checks the files, shows the values in effect, and prints a JSON Schema for editors.
 */
import { gatewayShapes } from '../app/config.ts'
import { dottedPath } from '../config/issue.ts'
import { exitCodes } from '../lib/exit-codes.ts'
import { silentLog } from '../lib/log.ts'
import { createRedactor } from '../lib/redact.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import { discoverPlatforms } from '../platforms/registry.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { createDisplay, type Display } from './kit/display.ts'
import { readSettings } from './kit/settings.ts'
import { configFindings } from './shared/config-findings.ts'

/** Prints all problems and warnings with their location. Exit code 78 when there is a problem. */
export async function configCheck(context: CliContext, { json }: JsonOption): Promise<void> {
  const settings = await readSettings(context)
  const { config, catalogue } = settings
  const { problems, warnings, notes, degraded, source } = config.state()
  if (problems.length > 0) context.exitCode = exitCodes.config
  const display = createDisplay(context.output, context.environment)
  if (json) {
    display.json({
      file: context.home.configFile,
      source,
      problems,
      warnings,
      notes,
      degraded,
      invalidPlatforms: catalogue.invalid,
    })
    return
  }
  const { mediaProblems } = await import('./checks/media.ts')
  const media = (await mediaProblems(context, settings)).map((text) => ({ kind: 'note' as const, text }))
  const { findEnvironmentProblem } = await import('./checks/environment.ts')
  const problem = await findEnvironmentProblem(context, settings)
  const unusable = problem === undefined ? [] : [{ kind: 'degraded' as const, text: problem }]
  const findings = [...configFindings(settings, undefined, context.home), ...media, ...unusable]
  for (const { kind, text } of findings)
    display.line(`${display.tone(kind === 'problem' ? 'bad' : 'warn', kind)}  ${toSingleLine(text)}`)
  if (findings.length > 0) return
  const what = source === 'file' ? 'is valid' : 'does not exist: all values are defaults'
  display.line(`${context.home.configFile} ${what}.`)
}

export async function configPath({ home, output }: CliContext): Promise<void> {
  output.write(`${home.configFile}\n`)
}

/** Prints the values that a gateway started now would use. Secrets are never shown. */
export async function configShow(context: CliContext, { json }: JsonOption): Promise<void> {
  const settings = await readSettings(context)
  const display = createDisplay(context.output, context.environment)
  const { listEffectiveValues } = await import('../config/effective-values.ts')
  const redact = createRedactor({ secrets: settings.secrets.all })
  const values = listEffectiveValues(settings.config, redact).map(({ path, shown, origin }) => ({
    path: dottedPath(path),
    shown,
    origin,
  }))
  if (json) display.json(values)
  else for (const { path, shown, origin } of values) printValue(display, path, shown, origin)
  for (const reason of settings.config.state().degraded) context.errors.write(`hermes: ${toSingleLine(reason)}\n`)
}

function printValue(display: Display, path: string, shown: string, origin: string): void {
  display.line(`${toSingleLine(path)}: ${toSingleLine(shown)}  ${display.tone('dim', `# ${toSingleLine(origin)}`)}`)
}

/** Prints the JSON Schema of config.yaml, including the installed platforms. */
export async function configSchema(context: CliContext): Promise<void> {
  const { configJsonSchema } = await import('../config/json-schema.ts')
  const { platforms } = discoverPlatforms({ directories: context.platformDirectories, log: silentLog })
  context.output.write(`${JSON.stringify(configJsonSchema(gatewayShapes(platforms)), null, 2)}\n`)
}
