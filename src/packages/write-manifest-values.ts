/**
 * Writes the values of all manifests that come with the gateway into one JSON file, at the installation (`npm ci`) and in an
 * image. A failure ends no installation: manifests without a value are parsed at each start.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'

const folders = ['platforms', 'plugins', 'hooks', 'skills']
const manifestName = /(?:^|[\\/])(?:plugin|HOOK)\.ya?ml$/
const skillName = /(?:^|[\\/])SKILL\.md$/

/** The YAML of each manifest below a folder of the gateway. */
function manifestTexts(folder: string, headOf: (text: string) => string | undefined): string[] {
  const root = new URL(`../../${folder}/`, import.meta.url)
  if (!existsSync(root)) return []
  return readdirSync(root, { recursive: true, encoding: 'utf8' }).flatMap((name) => {
    if (!manifestName.test(name) && !skillName.test(name)) return []
    const text = readFileSync(new URL(name, root), 'utf8')
    const yaml = skillName.test(name) ? headOf(text) : text
    return yaml === undefined ? [] : [yaml]
  })
}

async function writeManifestValues(): Promise<void> {
  const { headOf } = await import('../agent/skills/parse-head.ts')
  const { manifestKey, manifestValuesFile } = await import('../lib/manifest-yaml.ts')
  const { parseYaml } = await import('../lib/yaml.ts')
  const texts = folders.flatMap((folder) => manifestTexts(folder, headOf))
  const values = texts.flatMap((text) => {
    const { value, issues } = parseYaml(text, '')
    return issues.length === 0 ? [[manifestKey(text), value]] : []
  })
  mkdirSync(new URL('.', manifestValuesFile), { recursive: true, mode: 0o755 })
  writeFileSync(manifestValuesFile, JSON.stringify(Object.fromEntries(values)), { mode: 0o644 })
}

// Where only packages are installed, as in a stage of an image, there is nothing to parse yet.
if (existsSync(new URL('../lib/', import.meta.url))) {
  try {
    await writeManifestValues()
  } catch (error) {
    process.stderr.write(`The values of the manifests were not written: ${String(error)}\n`)
  }
}
