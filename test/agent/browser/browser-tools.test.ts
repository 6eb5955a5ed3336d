import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { ImagePart } from '../../../src/message/transcript.ts'
import { browserSkip, openBrowsers, openSite, secret } from './open-browsers.ts'

const page = `<title>Shop</title><h1>Offers</h1><p>Some words without a link.</p>
  <a href="/second">More</a> <button onclick="document.title='bought'">Buy</button>
  <input aria-label="Name"><select aria-label="Size"><option>Small</option><option>Large</option></select>
  <img src="/a.png" alt="A cat"><div style="height:5000px"></div><iframe srcdoc="<button>Inner</button>"></iframe>`

/** Fails with the limit of the test runner. */
async function until(isTrue: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 300 && !(await isTrue()); tries += 1) await setTimeout(50)
  assert.ok(await isTrue())
}

describe('the browser tools', { skip: browserSkip }, async () => {
  if (browserSkip !== false) return
  const site = await openSite({
    '/': page,
    '/second': '<title>Second</title><h1>The second page</h1>',
    '/dialogs': `<title>Dialogs</title><button onclick="document.title=String(confirm('Sure?'))">Ask</button>`,
    '/tabs': `<title>Tabs</title><button onclick="for(let i=0;i<1000;i++)window.open('/second?'+i)">Open</button>`,
    '/popup': `<title>Opener</title><button onclick="window.open('/second')">Open</button>`,
    '/never': (response) => void response.writeHead(200, { 'content-type': 'text/html' }).write('<h1>Half a'),
    '/silent': () => undefined,
    '/file': (response) =>
      void response.writeHead(200, { 'content-disposition': 'attachment; filename=evil.bin' }).end('evil'),
    '/download': '<title>Download</title><a href="/file">Get it</a>',
    '/logs': `<title>Logs</title><script>console.log('hello', 1); setTimeout(() => { throw new Error('broken') })</script>`,
    '/cookie': `<title>Cookie</title><script>document.cookie='who=me; path=/'</script>`,
    '/long': `<title>Long</title>${Array.from({ length: 2_000 }, (_, index) => `<button>Button number ${index}</button>`).join('')}`,
  })
  const opened = openBrowsers()
  const { call } = opened
  after(async () => {
    await opened.close()
    site.close()
  })
  const go = (path: string, sessionId = 'session') =>
    call('browser_navigate', { url: `${site.origin}${path}` }, { sessionId })
  const refOf = (snapshot: unknown, name: string) =>
    new RegExp(`"${name}"[^\\n]*\\[(@\\w+)\\]`).exec(String(snapshot))?.[1] ?? assert.fail(`no ${name} in ${snapshot}`)

  const titleIn = async (sessionId: string) =>
    (await call('browser_console', { expression: 'document.title' }, { sessionId }))['result']

  test('open a page, fill it in, click, scroll, press keys and go back', async () => {
    const first = await go('/')
    assert.equal(first['success'], true)
    assert.equal(first['title'], 'Shop')
    assert.doesNotMatch(String(first['snapshot']), /without a link/)
    const { snapshot } = await call('browser_snapshot', { full: true })
    assert.match(String(snapshot), /without a link/)
    assert.equal((await call('browser_click', { ref: refOf(first['snapshot'], 'Buy') }))['title'], 'bought')
    await call('browser_type', { ref: refOf(first['snapshot'], 'Name'), text: 'Ada' })
    await call('browser_press', { key: 'X' })
    const value = await call('browser_console', { expression: 'document.querySelector("input").value' })
    assert.deepEqual([value['result'], value['result_type']], ['"AdaX"', 'string'])
    await call('browser_type', { ref: refOf(first['snapshot'], 'Size'), text: 'Large' })
    assert.equal(
      (await call('browser_console', { expression: 'document.querySelector("select").value' }))['result'],
      '"Large"',
    )
    assert.equal((await call('browser_click', { ref: refOf(snapshot, 'Inner') }))['success'], true)
    await call('browser_scroll', { direction: 'down' })
    await call('browser_console', { expression: 'new Promise((done) => requestAnimationFrame(() => done(1)))' })
    const images = await call('browser_get_images')
    assert.deepEqual(images['images'], [{ src: `${site.origin}/a.png`, alt: 'A cat', width: 0, height: 0 }])
    assert.equal((await call('browser_click', { ref: refOf(first['snapshot'], 'More') }))['title'], 'Second')
    assert.equal((await call('browser_back'))['title'], 'Shop')
  })

  test('refuse a ref of a page that was left', async () => {
    const { snapshot } = await go('/')
    await call('browser_click', { ref: refOf(snapshot, 'More') })
    assert.equal((await call('browser_click', { ref: refOf(snapshot, 'Buy') }))['code'], 'unknown_element')
    assert.equal((await call('browser_click', { ref: 'button.buy' }))['code'], 'unknown_element')
  })

  test('say that no page is open yet', async () => {
    assert.equal((await call('browser_snapshot', {}, { sessionId: 'fresh' }))['code'], 'no_page')
    assert.equal((await call('browser_vision', { question: '?' }, { sessionId: 'fresh' }))['code'], 'no_page')
  })

  test('show a long page in parts that have all of it', async () => {
    let part = await go('/long')
    const all: string[] = []
    while (all.length < 20) {
      assert.ok(String(part['snapshot']).length <= 15_000)
      all.push(String(part['snapshot']))
      const offset = /offset (\d+)/.exec(String(part['more'] ?? ''))?.[1]
      if (offset === undefined) break
      part = await call('browser_snapshot', { offset: Number(offset) })
    }
    const names = [...all.join('\n').matchAll(/Button number (\d+)"/g)].map(([, number]) => Number(number))
    assert.deepEqual(
      names,
      Array.from({ length: 2_000 }, (_, index) => index),
    )
  })

  test('answer dialogs and tell of them', async () => {
    const { snapshot } = await go('/dialogs')
    const clicked = await call('browser_click', { ref: refOf(snapshot, 'Ask') })
    assert.deepEqual(clicked['dialogs'], [{ type: 'confirm', message: 'Sure?' }])
    assert.equal(clicked['title'], 'false')
  })

  test('follow a new tab, and come back when it is closed', async () => {
    const { snapshot } = await go('/popup', 'popups')
    await call('browser_click', { ref: refOf(snapshot, 'Open') }, { sessionId: 'popups' })
    await until(async () => (await titleIn('popups')) === '"Second"')
    await call('browser_console', { expression: 'window.close()' }, { sessionId: 'popups' })
    await until(async () => (await titleIn('popups')) === '"Opener"')
  })

  test('keep a page that opens a thousand tabs at the limit', async () => {
    const { snapshot } = await go('/tabs', 'tabs')
    await call('browser_click', { ref: refOf(snapshot, 'Open') }, { sessionId: 'tabs' })
    const { result } = await call('browser_cdp', { method: 'Target.getTargets' }, { sessionId: 'tabs' })
    const { targetInfos } = JSON.parse(String(result))
    assert.ok(targetInfos.length <= opened.settings.max_pages, `${targetInfos.length} tabs`)
    await opened.browsers.dispose('tabs')
  })

  test('end the wait for a page that never answers, and may be stopped while they wait', async () => {
    opened.settings = { ...opened.settings, command_timeout: 1 }
    assert.equal((await go('/silent'))['code'], 'timeout')
    opened.settings = { ...opened.settings, command_timeout: 20 }
    const stop = new AbortController()
    const waiting = call('browser_navigate', { url: `${site.origin}/silent?2` }, { signal: stop.signal })
    await until(() => site.requests.includes('GET /silent?2'))
    stop.abort(new Error('stopped by the user'))
    await assert.rejects(waiting, /stopped by the user/)
    assert.equal((await go('/second'))['title'], 'Second')
  })

  test('close a page whose script never ends, and open the next one', async () => {
    await go('/second', 'hanging')
    opened.settings = { ...opened.settings, command_timeout: 2 }
    const { code } = await call('browser_console', { expression: 'for (;;);' }, { sessionId: 'hanging' })
    assert.equal(code, 'page_hangs')
    opened.settings = { ...opened.settings, command_timeout: 20 }
    assert.equal((await go('/second', 'hanging'))['title'], 'Second')
  })

  test('download nothing', async () => {
    assert.equal((await go('/file'))['code'], 'download')
    const { snapshot } = await go('/download')
    assert.equal((await call('browser_click', { ref: refOf(snapshot, 'Get it') }))['title'], 'Download')
    assert.deepEqual(
      readdirSync(opened.root, { recursive: true }).filter((name) => String(name).includes('evil')),
      [],
    )
  })

  test('read the console and the errors of a page', async () => {
    await go('/logs', 'logs')
    const read = await call('browser_console', { clear: true }, { sessionId: 'logs' })
    assert.deepEqual(read['console_messages'], [{ type: 'log', text: 'hello 1' }])
    assert.deepEqual(read['js_errors'], ['broken'])
    assert.equal((await call('browser_console', {}, { sessionId: 'logs' }))['total_messages'], 0)
    const failed = await call('browser_console', { expression: 'nothing.here' }, { sessionId: 'logs' })
    assert.equal(failed['code'], 'script_failed')
  })

  test('give each conversation and each sub-agent its own cookies', async () => {
    await go('/cookie', 'one')
    const cookies = async (sessionId: string) => {
      await go('/second', sessionId)
      return (await call('browser_console', { expression: 'document.cookie' }, { sessionId }))['result']
    }
    assert.deepEqual([await cookies('one'), await cookies('two')], ['"who=me"', '""'])
  })

  test('close the pages that were used least recently when there are too many', async () => {
    opened.settings = { ...opened.settings, max_contexts: 2 }
    for (const sessionId of ['a', 'b', 'c']) await go('/second', sessionId)
    opened.settings = { ...opened.settings, max_contexts: 8 }
    assert.equal((await call('browser_snapshot', {}, { sessionId: 'a' }))['code'], 'no_page')
    assert.equal((await call('browser_snapshot', {}, { sessionId: 'c' }))['success'], true)
  })

  test('show a screenshot to a model that sees, and to the user when asked', async () => {
    await go('/')
    const shown: ImagePart[] = []
    const files: string[] = []
    const port = {
      showFileOf:
        () =>
        async ({ path }: { path: string }) => {
          files.push(path)
          return { write: () => assert.fail() }
        },
      vision: {
        isConfigured: async () => true,
        mayReadFiles: async () => true,
        open: async () => ({
          async analyze(request: object, canShow: boolean) {
            const path = String(Reflect.get(request, 'path'))
            const file = path.slice(path.lastIndexOf('/') + 1)
            const image = { type: 'image', file, mimeType: 'image/png', bytes: 1, width: 1, height: 1 } as const
            return canShow ? { image } : { text: 'a shop', model: 'eyes' }
          },
        }),
      },
    }
    const silent = { writeWithResult: () => undefined, callTool: async () => '' }
    const loop = { ...silent, showPicture: (image: ImagePart) => void shown.push(image) }
    const looked = await call('browser_vision', { question: 'What is it?', send: true }, { loop }, port)
    assert.equal(looked['shown_to_user'], true)
    assert.deepEqual(files, [looked['screenshot_path']])
    assert.equal(shown.length, 1)
    const seen = await call('browser_vision', { question: 'What is it?' }, { loop: silent }, port)
    assert.equal(seen['analysis'], 'a shop')
    assert.match(String((await call('browser_vision', { question: '?' }))['problem']), /No model/)
  })

  test('keep DevTools methods away from files, the browser and other pages', async () => {
    await go('/second')
    assert.match(String((await call('browser_cdp', { method: 'Page.getLayoutMetrics' }))['result']), /contentSize/)
    const refused = [
      ...['Browser.close', 'Browser.setDownloadBehavior', 'Target.createTarget', 'Target.createBrowserContext'],
      ...['DOM.setFileInputFiles', 'Page.navigate', 'Page.setDownloadBehavior', 'Network.loadNetworkResource'],
      ...['Input.dispatchDragEvent', 'Storage.getCookies', 'Fetch.enable', 'Tracing.start', 'nonsense', 'IO.read'],
    ]
    for (const method of refused) {
      const params = { url: 'file:///etc/passwd', targetId: 'x' }
      assert.equal((await call('browser_cdp', { method, params }))['code'], 'command_refused', method)
    }
    assert.equal((await call('browser_cdp', { method: 'Page.nothing' }))['code'], 'command_failed')
    const other = await call('browser_cdp', { method: 'Page.getLayoutMetrics', target_id: 'of-another' })
    assert.equal(other['code'], 'command_refused')
  })

  test('bring no secret of the gateway to a page', async () => {
    assert.equal((await go(`/?key=${secret}`))['code'], 'url_not_allowed')
    const { snapshot } = await go('/')
    const ref = refOf(snapshot, 'Name')
    assert.equal((await call('browser_type', { ref, text: secret }))['code'], 'url_not_allowed')
    assert.equal((await call('browser_console', { expression: `"${secret}"` }))['code'], 'url_not_allowed')
    assert.ok(site.requests.every((request) => !request.includes(secret)))
  })
})
