/**
 * Writes the values of all manifests that come with the gateway into one JSON file, at the installation (`npm ci`). A failure ends no
 * installation: manifests without a value are parsed at each start.
 */
import { mkdirSync, writeFileSync } from 'node:fs'

try {
  const { manifestValues } = await import('./manifest-values.ts')
  const { manifestValuesFile } = await import('../lib/manifest-yaml.ts')
  mkdirSync(new URL('.', manifestValuesFile), { recursive: true, mode: 0o755 })
  writeFileSync(manifestValuesFile, manifestValues(), { mode: 0o644 })
} catch (error) {
  process.stderr.write(`The values of the manifests were not written: ${String(error)}\n`)
}
