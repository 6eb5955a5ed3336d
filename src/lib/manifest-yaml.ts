/**
 * Parses the YAML of manifests. The bundled ones are parsed at the installation (`src/packages/write-manifest-values.ts`):
 * parsing two dozen of them takes a cold process 50 to 70 ms of processor time, also each command of the terminal.
 */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { lazy } from './cache.ts'
import { asRecord } from './json.ts'
import { type ParsedYaml, parseYaml } from './yaml.ts'

/** A JSON object: the key of a text -> its value. Only texts without issues have an entry. */
export const manifestValuesFile = new URL('../../node_modules/.hermes/manifests.json', import.meta.url)

/** Depends on the content only, so that an edited manifest is parsed again, wherever it is. */
export function manifestKey(text: string): string {
  return hash('sha256', text, 'base64url')
}

const readValues = lazy((): Readonly<Record<string, unknown>> => {
  try {
    return asRecord(JSON.parse(readFileSync(manifestValuesFile, 'utf8')))
  } catch {
    // An installation without scripts has no file. Everything is parsed, which only takes longer.
    return {}
  }
})

/** Returns what `parseYaml` does. Never throws. The value is the same object each time, and must not be changed. */
export function parseManifestYaml(text: string, file: string): ParsedYaml {
  const values = readValues()
  const key = manifestKey(text)
  if (!Object.hasOwn(values, key)) return parseYaml(text, file)
  const parse = lazy(() => parseYaml(text, file))
  return { file, value: values[key], issues: [], positionOf: (path, at) => parse().positionOf(path, at) }
}
