/**
 * Checks the names of toolsets and platforms on the command line.
 */
import { type CustomToolsets, findUnknownEntries, type SelectableTool } from '../../agent/toolsets/select-tools.ts'
import { findClosestMatch } from '../../lib/did-you-mean.ts'
import { HermesError } from '../../lib/errors.ts'
import type { Settings } from '../kit/settings.ts'

/** Throws `cli/not-found` with the most similar name. */
export function assertToolsetsExist(
  names: readonly string[],
  tools: readonly SelectableTool[],
  custom: CustomToolsets,
): void {
  const [unknown] = findUnknownEntries(names, tools, custom)
  if (unknown === undefined) return
  const question = unknown.nearest === null ? '.' : `; did you mean ${unknown.nearest}?`
  throw new HermesError('cli/not-found', `There is no toolset or tool ${JSON.stringify(unknown.name)}${question}`, {
    hint: '`hermes tools list` shows the toolsets. Tools of plugins are known while the gateway runs.',
  })
}

/** Throws `cli/not-found` with the most similar name. */
export function assertPlatformExists(platform: string, { catalogue }: Pick<Settings, 'catalogue'>): void {
  const names = catalogue.platforms.map(({ name }) => name)
  if (names.includes(platform)) return
  const nearest = findClosestMatch(platform, names)
  throw new HermesError(
    'cli/not-found',
    `There is no platform ${JSON.stringify(platform)}${nearest === null ? '.' : `; did you mean ${nearest}?`}`,
    { hint: `The platforms are: ${names.join(', ')}.` },
  )
}
