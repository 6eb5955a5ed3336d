/**
 * Manifests that come with the gateway are parsed at the installation. No reader may notice that.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { manifestKey, manifestValuesFile, parseManifestYaml } from '../../src/lib/manifest-yaml.ts'
import { parseYaml } from '../../src/lib/yaml.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const manifests = globSync(['{platforms,plugins}/**/plugin.yaml', 'hooks/*/HOOK.yaml'], { cwd: root }).map((file) => ({
  file,
  text: readFileSync(join(root, file), 'utf8'),
}))

test('the installation has the value of every manifest that comes with the gateway', () => {
  const values: Readonly<Record<string, unknown>> = JSON.parse(readFileSync(manifestValuesFile, 'utf8'))
  assert.ok(manifests.length > 15)
  for (const { file, text } of manifests) assert.deepEqual(values[manifestKey(text)], parseYaml(text, file).value, file)
})

test('a manifest that was parsed at the installation has the value, the issues and the positions of its text', () => {
  for (const { file, text } of manifests) {
    const parsed = parseYaml(text, file)
    const prepared = parseManifestYaml(text, file)
    assert.deepEqual({ ...prepared, positionOf: null }, { ...parsed, positionOf: null }, file)
    for (const path of [[], ['name'], ['description'], ['options'], ['no', 'such', 'key']])
      assert.deepEqual(prepared.positionOf(path), parsed.positionOf(path), file)
  }
})

test('an edited manifest is parsed, and its errors have their lines', () => {
  const text = 'name: greeter\n'
  assert.deepEqual(parseManifestYaml(`${text}\nextra: 1\n`, 'edited.yaml').issues, [])
  const [issue] = parseManifestYaml(`${text}tags: [\n`, 'edited.yaml').issues
  assert.equal(issue?.file, 'edited.yaml')
  assert.ok(Number(issue?.line) > 1)
})
