/**
 * Generates pages from the code. A page is generated completely, or it contains generated regions between two comments:
 * `<!-- generated: errors -->` … `<!-- end of errors -->`.
 */
import { commandLine } from './generated/command-line.ts'
import { configuration } from './generated/configuration.ts'
import { errors } from './generated/errors.ts'
import { events } from './generated/events.ts'
import { hermesKeys } from './generated/hermes-keys.ts'
import { homeFiles } from './generated/home-files.ts'
import { metrics } from './generated/metrics.ts'
import { middlewarePoints, middlewareTypes } from './generated/middleware.ts'
import { pluginContext, pluginTypes } from './generated/plugin-context.ts'
import { pluginHooks } from './generated/plugin-hooks.ts'
import { pluginManifest } from './generated/plugin-manifest.ts'
import { sdkApi } from './generated/sdk-api.ts'
import { securityControls } from './generated/security-controls.ts'
import { sessionKeys } from './generated/session-keys.ts'
import { slashCommands } from './generated/slash-commands.ts'
import { commandVerdicts } from './generated/verdicts.ts'
import { filesOf, textOf } from './repository.ts'

export interface GeneratedPage {
  /** Relative to the root. */
  readonly path: string
  readonly text: string
}

const region = /<!-- generated: (?<name>[a-z-]+) -->\n[\s\S]*?<!-- end of \k<name> -->/g

/** The current text of all generated pages. Throws when a page contains an unknown region. */
export async function generatedPages(): Promise<readonly GeneratedPage[]> {
  const config = await configuration()
  const regions: Readonly<Record<string, string>> = {
    'command-line': commandLine(),
    errors: errors(),
    events: events(),
    'hermes-keys': hermesKeys(),
    'home-files': homeFiles(),
    metrics: await metrics(),
    'middleware-points': middlewarePoints(),
    'middleware-types': middlewareTypes(),
    'plugin-context': pluginContext(),
    'plugin-hooks': pluginHooks(),
    'plugin-manifest': pluginManifest(),
    'plugin-types': pluginTypes(),
    'sdk-api': sdkApi(),
    'security-controls': securityControls(),
    'session-keys': sessionKeys(),
    'slash-commands': slashCommands(),
    variables: config.variables,
    verdicts: commandVerdicts(),
  }
  const whole: readonly GeneratedPage[] = [
    { path: 'docs/reference/configuration.md', text: config.page },
    { path: 'docs/reference/configuration.schema.json', text: config.schema },
  ]
  const filled = filesOf('docs')
    .filter((path) => path.endsWith('.md') && !whole.some((page) => page.path === path))
    .map((path) => ({ path, text: fill(path, textOf(path), regions) }))
    .filter(({ text }) => text.includes('<!-- generated: '))
  return [...whole, ...filled]
}

function fill(path: string, text: string, regions: Readonly<Record<string, string>>): string {
  return text.replace(region, (_whole, name: string) => {
    const content = regions[name]
    if (content === undefined) throw new Error(`${path}: unknown region ${name}`)
    return `<!-- generated: ${name} -->\n\n${content.trim()}\n\n<!-- end of ${name} -->`
  })
}
