/**
 * Checks the documentation: its code compiles, its configuration loads, its links and commands exist, and its generated pages
 * are current.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { before, describe, test } from 'node:test'
import { openConfig } from '../src/app/config.ts'
import { readEnvironment } from '../src/config/environment.ts'
import { formatIssue } from '../src/config/issue.ts'
import { ensureDirectory, writeFileAtomic } from '../src/lib/files.ts'
import { createHomeLayout } from '../src/lib/home.ts'
import { silentLog } from '../src/lib/log.ts'
import { createSecretRegistry } from '../src/lib/redact.ts'
import { parseYaml } from '../src/lib/yaml.ts'
import { type PlatformManifest, parseManifest } from '../src/platforms/manifest.ts'
import { discoverPlatforms } from '../src/platforms/registry.ts'
import { parsePluginManifest } from '../src/plugins/manifest.ts'
import { unknownCommands } from './docs/commands.ts'
import { generatedPages } from './docs/generated.ts'
import { type CodeBlock, type Page, readPage, readPages } from './docs/pages.ts'
import { filesOf, root, textOf } from './docs/repository.ts'
import { routeAddresses } from './docs/routes.ts'
import { compile } from './docs/typescript.ts'
import { tempHome } from './kit/temp-home.ts'

// The limit of a suite counts all of its tests, and the type check of a busy machine takes longer than a minute.
describe('the documentation', { timeout: 300_000 }, () => {
  let pages: readonly Page[] = []
  before(async () => {
    pages = await readPages()
  })

  /** All blocks of a language, with their locations. */
  const blocksOf = (language: string): [where: string, block: CodeBlock][] =>
    pages.flatMap(({ path, blocks }) =>
      blocks
        .filter((block) => block.language === language)
        .map((block): [string, CodeBlock] => [`${path}: ${block.text.split('\n', 1)[0]}`, block]),
    )

  test('has four kinds of pages, and a README of one screen with the pictures that the tests take', () => {
    for (const kind of ['tutorial', 'how-to', 'reference', 'explanation']) {
      assert.ok(
        pages.some(({ path }) => path.startsWith(`docs/${kind}/`)),
        kind,
      )
    }
    const lines = textOf('README.md').split('\n').length
    assert.ok(lines <= 50, `the README has ${lines} lines`)
    for (const [, picture = ''] of textOf('README.md').matchAll(/<img src="([^"]+)"/g))
      assert.ok(existsSync(join(root, picture)), picture)
  })

  test('its TypeScript compiles', { timeout: 240_000 }, async (t) => {
    const blocks = blocksOf('ts')
    assert.ok(blocks.length >= 3)
    const wrong = { language: 'ts', text: "import { sleep } from '#sdk'\nconst ms: string = sleep", file: undefined }
    const errors = await compile(t, [...blocks, ['planted', wrong]])
    assert.equal(errors.length, 1, errors.join('\n'))
    assert.match(errors[0] ?? '', /^planted\(2,7\): error TS2322/)
  })

  test('its JSON can be parsed', () => {
    for (const [where, { text }] of blocksOf('json')) assert.doesNotThrow(() => JSON.parse(text), where)
  })

  test('its configuration loads without errors and warnings, and its manifests are valid', async (t) => {
    const blocks = blocksOf('yaml')
    assert.ok(blocks.length >= 3)
    const manifests: PlatformManifest[] = []
    for (const [where, { file = 'config.yaml', text }] of blocks) {
      if (!file.endsWith('plugin.yaml')) continue
      const check = parseManifest(text, file)
      if (check.kind === 'other' || file.startsWith('plugins/')) {
        const plugin = parsePluginManifest(text, file, { directoryName: 'mine' })
        assert.ok(plugin.ok, `${where}: ${JSON.stringify(plugin)}`)
        continue
      }
      assert.ok(check.kind === 'platform', `${where}: ${JSON.stringify(check)}`)
      manifests.push(check.manifest)
    }
    const shipped = discoverPlatforms({ directories: [join(root, 'platforms')], log: silentLog })
    const platforms = [...shipped.platforms, ...manifests]
    for (const [where, { file = 'config.yaml', text }] of blocks) {
      if (file === 'config.yaml') assert.deepEqual(configIssues(tempHome(t), text, platforms), [], where)
      else assert.deepEqual(parseYaml(text, file).issues, [], where)
    }
  })

  test('its generated pages are current (`npm run docs` updates them)', async () => {
    const generated = await generatedPages()
    assert.ok(generated.length >= 6)
    for (const { path, text } of generated) {
      const written = existsSync(join(root, path)) ? textOf(path) : ''
      assert.ok(
        written === text,
        `${path} is not current. \`npm run docs\` accepts this:\n${differenceOf(written, text)}`,
      )
    }
  })

  test('every link within the repository leads to an existing file and heading', () => {
    const broken: string[] = []
    for (const { path, links } of pages) {
      for (const link of links) {
        if (/^[a-z]+:/.test(link)) continue
        const [file = '', anchor = ''] = link.split('#')
        const target = file === '' ? path : posix.normalize(posix.join(posix.dirname(path), file))
        const page = pages.find((candidate) => candidate.path === target)
        if (!existsSync(join(root, target)) || (anchor !== '' && page?.anchors.has(anchor) !== true)) {
          broken.push(`${path} → ${link}`)
        }
      }
    }
    assert.deepEqual(broken, [])
  })

  test('the index of the documentation links to every page', () => {
    const linksOf = (index: string) =>
      pages.find(({ path }) => path === index)?.links.map((link) => posix.join(posix.dirname(index), link)) ?? []
    const linked = new Set([...linksOf('docs/README.md'), ...linksOf('docs/decisions/README.md')])
    const hidden = pages.filter(
      ({ path }) => path.startsWith('docs/') && path !== 'docs/README.md' && !linked.has(path),
    )
    assert.deepEqual(
      hidden.map(({ path }) => path),
      [],
    )
  })

  test('every page that the code names exists', () => {
    const named = filesOf('src')
      .concat(filesOf('platforms'))
      .flatMap((path) => [...textOf(path).matchAll(/\bdocs\/[a-z-]+\/[a-z-]+\.(?:md|json)/g)].map(([page]) => page))
    assert.ok(named.length > 0)
    for (const page of named) assert.ok(existsSync(join(root, page)), page)
  })

  test('the page of HTTP lists every route', () => {
    const addresses = routeAddresses()
    assert.ok(addresses.length > 15)
    const shapeOf = (text: string) => text.replace(/<\w+>|\{\w+\}/g, '<>')
    const page = shapeOf(textOf('docs/reference/http.md'))
    const missing = addresses.filter((address) => !page.includes(`${shapeOf(address)}\``))
    assert.deepEqual(missing, [])
  })

  test('every source file that a page names exists', () => {
    const ours = /(?<![\w./-])(?:src|platforms|test|docs)\/[\w./-]+\.\w+/g
    const named = pages.flatMap(({ path, blocks, spans }) =>
      [...spans, ...blocks.filter(({ language }) => language === 'text').map(({ text }) => text)]
        .flatMap((text) => [...text.matchAll(ours)].map(([file]) => file))
        .map((file) => ({ path, file })),
    )
    assert.ok(named.length > 20)
    assert.deepEqual(
      named.filter(({ file }) => !existsSync(join(root, file))),
      [],
    )
  })

  test('every command on a page exists', async () => {
    const { scripts } = JSON.parse(textOf('package.json'))
    assert.deepEqual(unknownCommands(pages, Object.keys(scripts)), [])
    const wrong =
      '```sh\nhermes status\nhermes sessions burn\n```\n\nOr `npm run nothing`, or `hermes inbox list|lose`.'
    assert.deepEqual(unknownCommands([await readPage('planted', wrong)], Object.keys(scripts)), [
      'planted: hermes sessions burn',
      'planted: npm run nothing',
      'planted: hermes inbox list|lose',
    ])
  })
})

/** The issues of a config.yaml with this text. */
function configIssues(folder: string, text: string, platforms: readonly PlatformManifest[]): string[] {
  const home = createHomeLayout(folder)
  ensureDirectory(dirname(home.configFile), 0o700)
  writeFileAtomic(home.configFile, text, 0o600)
  // All variables in the text are set, as the page requires.
  const names = [...text.matchAll(/\$\{([A-Z_]+)/g)].map(([, name = '']) => name)
  const environment = readEnvironment(
    home.envFile,
    Object.fromEntries(names.map((name) => [name, 'a-value-that-is-set'])),
  )
  const config = openConfig({
    home,
    environment: () => environment,
    platforms,
    secrets: createSecretRegistry(),
    saveLastGood: false,
    log: silentLog,
  })
  const { problems, warnings, degraded } = config.state()
  return [...problems.map(formatIssue), ...warnings.map(formatIssue), ...degraded]
}

test('no file contains a path of the development machine or the address of a package registry', () => {
  // In parts, so that this file does not contain them itself.
  const words = [
    'work/main',
    'work/shared',
    'npmjs.org',
    'npmjs.com',
    'npmmirror',
    'yarnpkg.com',
    'pypi.org',
    'verdaccio',
  ]
  const pattern = new RegExp(`(?:^|[^\\w.])/(?:${words.slice(0, 2).join('|')})\\b|${words.slice(2).join('|')}`)
  const files = filesOf().filter((path) => /\.(?:ts|mjs|js|json|ya?ml|md|html|css|svg)$|file$|^\.\w+/i.test(path))
  assert.ok(files.length > 200)
  const found = files.filter((path) => path !== 'test/documentation.test.ts' && pattern.test(textOf(path)))
  assert.deepEqual(found, [])
  assert.doesNotMatch(textOf('package-lock.json'), /"resolved": "http/)
})

/** The lines that one text has and the other has not. */
function differenceOf(before: string, after: string): string {
  const [old, current] = [before, after].map((text) => new Set(text.split('\n')))
  const removed = [...(old ?? [])].filter((line) => current?.has(line) === false).map((line) => `- ${line}`)
  const added = [...(current ?? [])].filter((line) => old?.has(line) === false).map((line) => `+ ${line}`)
  return [...removed, ...added].slice(0, 100).join('\n')
}
