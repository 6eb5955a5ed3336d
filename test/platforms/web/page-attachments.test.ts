/**
 * Pictures and files on the page, in a real browser.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { createPng } from '../../kit/pictures.ts'
import { createTab, findChromium, startBrowser, type Tab } from './browser.ts'

const chromium = findChromium(process.env)
const skip = chromium === undefined ? 'no chromium found; set CHROMIUM to its path' : false

describe('files on the chat page', { skip }, () => {
  let browser: Browser
  let phone: Tab
  before(async () => {
    browser = await startBrowser(chromium ?? '')
    phone = await createTab(browser, { viewport: { width: 390, height: 780 } })
  })
  after(async () => {
    await phone[Symbol.asyncDispose]()
    await browser.close()
  })

  const connected = (page: Page) => page.waitForSelector('#status[data-state=open]')
  const picture = (name: string, buffer = createPng({ width: 40, height: 30 })) => ({
    name,
    mimeType: 'image/png',
    buffer,
  })
  /** Gives files like a person who pastes or drops them. */
  const give = (page: Page, how: 'paste' | 'drop') =>
    page.evaluate(`(() => {
      const data = new DataTransfer()
      data.items.add(new File([new Uint8Array([1, 2, 3])], '${how}.bin'))
      const event = '${how}' === 'paste'
        ? new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })
        : new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })
      document.querySelector('#message').dispatchEvent(event)
      return event.defaultPrevented
    })()`)

  test('chosen, pasted and dropped files are previewed, can be removed by keyboard, and are sent', async () => {
    await using opened = await phone.open()
    const { page, gateway, problems } = opened
    await connected(page)
    await page.setInputFiles('#choose', [picture('cat.png'), picture('dog.png')])
    await page.waitForSelector('#tray li:nth-child(2)')
    assert.equal(await give(page, 'paste'), true)
    assert.equal(await give(page, 'drop'), true)
    await page.waitForSelector('#tray li:nth-child(4)')
    assert.equal(await page.getAttribute('#tray img', 'alt'), 'cat.png')
    await page.focus('[aria-label="Remove dog.png"]')
    await page.keyboard.press('Enter')
    await page.waitForSelector('#tray li:nth-child(4)', { state: 'detached' })
    assert.match(await page.innerText('#tray-status'), /dog\.png/)
    const accepted = gateway.nextAccepted()
    await page.click('#send')
    const { text, attachments = [] } = await accepted
    assert.equal(text, '')
    assert.deepEqual(
      attachments.map(({ fileName }) => fileName),
      ['cat.png', 'paste.bin', 'drop.bin'],
    )
    await page.waitForSelector('.entry.user[data-state=sent] .picture[data-state=shown]')
    await page.reload()
    await page.waitForSelector('.entry.user .picture[data-state=shown]')
    const wide = 'document.documentElement.scrollWidth > innerWidth'
    assert.equal(await page.evaluate(wide), false)
    assert.deepEqual(problems, [])
  })

  test('a file that was chosen without a connection is sent after a reload', async () => {
    await using opened = await phone.open()
    const { page, gateway, served } = opened
    await connected(page)
    await page.setInputFiles('#choose', picture('first.png'))
    await page.waitForSelector('#tray li progress[hidden]', { state: 'attached' })
    served.refuseConnections()
    await page.setInputFiles('#choose', picture('second.png'))
    await page.waitForSelector('#tray li:nth-child(2)')
    await page.fill('#message', 'Two pictures')
    await page.click('#send')
    await page.waitForSelector('.entry.user[data-state=waiting]')
    const accepted = gateway.nextAccepted()
    served.open()
    await page.reload()
    const { attachments = [] } = await accepted
    assert.deepEqual(
      attachments.map(({ fileName, kind }) => [fileName, kind]),
      [
        ['first.png', 'photo'],
        ['second.png', 'photo'],
      ],
    )
  })

  test('files beyond the limits are refused before they are sent, with the reason', async () => {
    await using opened = await phone.open()
    const { page, gateway, problems } = opened
    await connected(page)
    const names = Array.from({ length: 20 }, (_, index) => picture(`p${index}.png`))
    await page.setInputFiles('#choose', names)
    await page.waitForSelector('#tray-status[data-quiet=no]')
    assert.equal(await page.locator('#tray li').count(), 8)
    assert.match(await page.innerText('#tray-status'), /p8\.png.* 8 /)
    await page.fill('#message', 'eight')
    const accepted = gateway.nextAccepted()
    await page.click('#send')
    assert.equal((await accepted).attachments?.length, 8)
    assert.deepEqual(problems, [])
  })

  test('a picture that models cannot look at is sent as a file, which the page says before', async () => {
    await using opened = await phone.open()
    const { page, gateway, problems } = opened
    await connected(page)
    await page.setInputFiles('#choose', picture('map.png', createPng({ width: 30_000, height: 30_000 })))
    await page.waitForSelector('#tray li[data-state=problem]')
    assert.match(await page.innerText('#tray-status'), /map\.png.*30,000/)
    const accepted = gateway.nextAccepted()
    await page.click('#send')
    assert.match((await accepted).attachments?.[0]?.hidden ?? '', /30,000/)
    assert.deepEqual(problems, [])
  })

  test('a photo that is too large for models is made smaller', async () => {
    await using opened = await phone.open()
    const { page, gateway, problems } = opened
    await connected(page)
    await page.setInputFiles('#choose', picture('photo.png', createPng({ width: 900, height: 600, fill: 6_000_000 })))
    await page.waitForSelector('#tray li')
    assert.match(await page.innerText('#tray-status'), /photo\.jpg.*5\.7 MB/)
    const accepted = gateway.nextAccepted()
    await page.click('#send')
    const [sent] = (await accepted).attachments ?? []
    assert.deepEqual([sent?.kind, sent?.mimeType], ['photo', 'image/jpeg'])
    assert.deepEqual(problems, [])
  })

  test('a picture of the agent is shown with its caption and opens in full size', async () => {
    await using opened = await phone.open()
    const { page, gateway, problems } = opened
    await connected(page)
    await gateway.sendFile('chart.png', 'image/png', new Uint8Array(createPng({ width: 60, height: 40 })), 'June')
    await page.waitForSelector('.entry.agent .picture[data-state=shown]')
    assert.equal(await page.innerText('.entry.agent .prose'), 'June')
    await page.focus('.entry.agent .picture')
    await page.keyboard.press('Enter')
    await page.waitForSelector('#viewer[open] img[alt="chart.png"]')
    await page.keyboard.press('Escape')
    await page.waitForSelector('#viewer:not([open])', { state: 'attached' })
    assert.equal(await page.evaluate('document.activeElement.className'), 'picture')
    assert.deepEqual(problems, [])
  })
})
