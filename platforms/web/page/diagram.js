/**
 * Draws the Mermaid diagrams of a finished reply. The program runs in a frame without an origin, whose policy permits it and
 * nothing else: no connection, no storage, no access to the page. The source stays where a diagram cannot be drawn.
 */
import { h } from './dom.js'

const maxHeight = 1_200
const frameMs = 20_000

/** @param {Element} root a finished reply */
export function drawDiagrams(root) {
  for (const block of root.querySelectorAll('.code[data-language="mermaid"]:not([data-drawn])')) {
    if (block instanceof HTMLElement) draw(block)
  }
}

/** @param {HTMLElement} block */
function draw(block) {
  block.dataset['drawn'] = 'waiting'
  const source = block.querySelector('code')?.textContent ?? ''
  const frame = h('iframe', {
    class: 'diagram',
    title: 'Diagram',
    sandbox: 'allow-scripts',
    referrerpolicy: 'no-referrer',
    src: '/assets/diagram.html',
  })
  const end = (/** @type {'shown' | 'failed'} */ state) => {
    clearTimeout(limit)
    block.dataset['drawn'] = state
    if (state === 'shown') return
    window.removeEventListener('message', listen)
    frame.remove()
  }
  const limit = setTimeout(() => end('failed'), frameMs)
  window.addEventListener('message', listen)
  block.append(frame)

  /** @param {MessageEvent} event */
  function listen({ source: sender, data }) {
    if (sender !== frame.contentWindow || typeof data !== 'object' || data === null) return
    const isDark = matchMedia('(prefers-color-scheme: dark)').matches
    // A frame without an origin can be addressed by no other name.
    if (data.type === 'ready') frame.contentWindow?.postMessage({ source, isDark }, '*')
    else if (data.type === 'drawn' && Number.isFinite(data.height)) {
      frame.style.height = `${Math.min(maxHeight, Math.max(40, data.height))}px`
      end('shown')
    } else if (data.type === 'failed') end('failed')
  }
}
