import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { browserSkip, openBrowsers, openSite, secret } from './open-browsers.ts'

interface Process {
  readonly pid: number
  readonly parent: number
  readonly command: string
}

function processes(): readonly Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
        const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
        const [state = '', parent = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        return state === 'Z' ? [] : [{ pid: Number(name), parent: Number(parent), command }]
      } catch {
        // It has ended meanwhile.
        return []
      }
    })
}

/** The browser with a profile in this folder, and all processes below it. */
function browserOf(directory: string): readonly Process[] {
  const all = processes()
  const found = all.filter(
    ({ command }) => command.includes(`--user-data-dir=${directory}`) && !command.includes('--type='),
  )
  for (let index = 0; index < found.length; index += 1)
    found.push(...all.filter((one) => one.parent === found[index]?.pid && !found.includes(one)))
  return found
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let tries = 0; tries < 300 && !isTrue(); tries += 1) await setTimeout(50)
  assert.ok(isTrue())
}

const skip = existsSync('/proc/self/stat') ? browserSkip : 'there is no /proc'

describe('the process of the browser', { skip }, async () => {
  if (skip !== false) return
  const site = await openSite({ '/': '<title>Site</title><h1>Here</h1>' })
  const opened = openBrowsers()
  const { call, directory } = opened
  const go = (sessionId = 'session') => call('browser_navigate', { url: site.origin }, { sessionId })
  after(async () => {
    await opened.close()
    site.close()
  })

  test('starts with the first page, in an empty profile, without the secrets of the gateway', async () => {
    mkdirSync(join(directory, 'left-over'), { recursive: true })
    await call('browser_snapshot')
    assert.deepEqual(browserOf(directory), [])
    assert.equal((await go())['title'], 'Site')
    assert.equal(readdirSync(directory).length, 1)
    const [main] = browserOf(directory)
    assert.ok(!readFileSync(`/proc/${main?.pid}/environ`, 'latin1').includes(secret))
    assert.match(main?.command ?? '', /--proxy-server=http:\/\/127\.0\.0\.1:\d+/)
    assert.equal(main?.command.includes('--no-sandbox'), process.getuid?.() === 0)
  })

  test('may lose a page, and the next call says so', async () => {
    await go()
    const renderers = browserOf(directory).filter(({ command }) => command.includes('--type=renderer'))
    for (const { pid } of renderers) process.kill(pid, 'SIGKILL')
    let { code } = await call('browser_snapshot')
    for (let tries = 0; code === undefined && tries < 20; tries += 1) ({ code } = await call('browser_snapshot'))
    assert.ok(code === 'page_crashed' || code === 'no_page', String(code))
    assert.equal((await go())['title'], 'Site')
  })

  test('may be killed, and starts again', async () => {
    const [main] = browserOf(directory)
    process.kill(main?.pid ?? assert.fail('no browser'), 'SIGKILL')
    await until(() => readdirSync(directory).length === 0)
    assert.equal((await call('browser_snapshot'))['code'], 'no_page')
    assert.equal((await go())['title'], 'Site')
  })

  test('ends when a page floods the gateway, which goes on', async () => {
    await go()
    // 240 MB of JSON in one message.
    await call('browser_console', { expression: "console.log('\\u0001'.repeat(40_000_000))" })
    await until(() => readdirSync(directory).length === 0)
    assert.equal((await call('browser_snapshot'))['code'], 'no_page')
    assert.equal((await go())['title'], 'Site')
  })

  test('ends when no page was used for a while', async () => {
    opened.settings = { ...opened.settings, inactivity_timeout: 1 }
    await go()
    await until(() => browserOf(directory).length === 0 && readdirSync(directory).length === 0)
  })

  test('is named in the error when it cannot be started', async () => {
    opened.settings = { ...opened.settings, executable_path: '/bin/false' }
    assert.equal((await go())['code'], 'browser_not_started')
    opened.settings = { ...opened.settings, executable_path: '', cdp_url: 'http://127.0.0.1:1' }
    assert.equal((await go())['code'], 'browser_not_started')
    opened.settings = { ...opened.settings, cdp_url: '' }
  })

  test('ends with a gateway that is killed', async () => {
    const script = `const { openBrowsers } = await import(${JSON.stringify(new URL('./open-browsers.ts', import.meta.url).href)})
      const { call, directory } = openBrowsers()
      await call('browser_navigate', { url: ${JSON.stringify(site.origin)} })
      console.log(directory)`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
      // What it cannot remove any more is removed with the home of this test.
      env: { ...process.env, TMPDIR: opened.root },
    })
    const [line] = await once(child.stdout, 'data')
    const folder = String(line).trim()
    assert.ok(browserOf(folder).length > 1)
    child.kill('SIGKILL')
    await until(() => processes().every(({ command }) => !command.includes(folder)))
    // The next browser of the home removes its profile. Nothing would remove other files.
    assert.deepEqual(
      readdirSync(opened.root).filter((name) => name.startsWith('playwright')),
      [],
    )
  })
})
