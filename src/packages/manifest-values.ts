/**
 * The values of all manifests that come with the gateway, parsed before it starts. They need the packages that are installed with it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { headOf } from '../agent/skills/parse-head.ts'
import { manifestKey } from '../lib/manifest-yaml.ts'
import { parseYaml } from '../lib/yaml.ts'

const folders = ['platforms', 'plugins', 'hooks', 'skills']
const manifestName = /(?:^|[\\/])(?:plugin|HOOK)\.ya?ml$/
const skillName = /(?:^|[\\/])SKILL\.md$/

/** The JSON of `lib/manifest-yaml.ts`. A manifest with issues has no value. */
export function manifestValues(): string {
  const values = folders.flatMap(manifestTexts).flatMap((text) => {
    const { value, issues } = parseYaml(text, '')
    return issues.length === 0 ? [[manifestKey(text), value]] : []
  })
  return JSON.stringify(Object.fromEntries(values))
}

/** The YAML of each manifest below a folder of the gateway. */
function manifestTexts(folder: string): string[] {
  const root = new URL(`../../${folder}/`, import.meta.url)
  if (!existsSync(root)) return []
  return readdirSync(root, { recursive: true, encoding: 'utf8' }).flatMap((name) => {
    if (!manifestName.test(name) && !skillName.test(name)) return []
    const text = readFileSync(new URL(name, root), 'utf8')
    const yaml = skillName.test(name) ? headOf(text) : text
    return yaml === undefined ? [] : [yaml]
  })
}
