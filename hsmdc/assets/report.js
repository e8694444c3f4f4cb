"use strict";
// The zoomable trace: every pixel column shows the lowest and the highest value of its samples, so no peak
// is ever lost to sampling, and a zoom deep enough shows the samples themselves.
(function () {
  const MISSING = 65535;
  const MARGIN = { left: 46, right: 10, top: 10, bottom: 34 };
  const TICKS_S = [
    1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600,
    86400, 2 * 86400, 7 * 86400, 14 * 86400,
  ];
  const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

  function decode(text, count) {
    const raw = atob(text);
    const view = new DataView(new ArrayBuffer(raw.length));
    for (let i = 0; i < raw.length; i++) view.setUint8(i, raw.charCodeAt(i));
    const values = new Uint16Array(count);
    for (let i = 0; i < count; i++) values[i] = view.getUint16(2 * i, true);
    return values;
  }

  function two(n) { return String(n).padStart(2, "0"); }

  function clock(ms, fine) {
    const t = new Date(ms);
    const day = t.getUTCFullYear() + "-" + two(t.getUTCMonth() + 1) + "-" + two(t.getUTCDate());
    const time = two(t.getUTCHours()) + ":" + two(t.getUTCMinutes());
    const second = t.getUTCSeconds() + t.getUTCMilliseconds() / 1000;
    return day + " " + time + (fine ? ":" + (second < 10 ? "0" : "") + second.toFixed(1) : "");
  }

  function niceStep(span, count) {
    const raw = span / count;
    const base = Math.pow(10, Math.floor(Math.log10(raw)));
    return [1, 2, 5, 10].map((m) => m * base).find((step) => step >= raw);
  }

  class Zoom {
    constructor(box) {
      const data = JSON.parse(box.querySelector("script").textContent);
      this.box = box;
      this.canvas = box.querySelector("canvas");
      this.output = box.querySelector("output");
      this.start = data.start_ms;
      this.step = data.step_s * 1000;
      this.count = data.count;
      this.series = data.series.map((s) => ({ ...s, shown: true, codes: decode(s.data, data.count) }));
      this.top = Math.max(...this.series.map((s) => s.low + s.scale * (MISSING - 1)));
      this.view = [0, this.count];
      this.drag = null;
      this.scale = window.devicePixelRatio || 1;
      this.addLegend();
      this.addControls();
      new ResizeObserver(() => this.draw()).observe(this.canvas);
      this.draw();
    }

    addLegend() {
      const bar = this.box.querySelector(".legend");
      for (const s of this.series) {
        const label = document.createElement("label");
        const tick = document.createElement("input");
        tick.type = "checkbox";
        tick.checked = true;
        tick.addEventListener("change", () => { s.shown = tick.checked; this.draw(); });
        const swatch = document.createElement("span");
        swatch.className = "swatch";
        swatch.style.background = s.colour;
        label.append(tick, " ", swatch, s.name);
        bar.append(label);
      }
    }

    addControls() {
      for (const button of this.box.querySelectorAll("button")) {
        button.addEventListener("click", () => this.act(button.dataset));
      }
      const c = this.canvas;
      c.addEventListener("pointerdown", (e) => { this.drag = [e.offsetX, e.offsetX]; c.setPointerCapture(e.pointerId); });
      c.addEventListener("pointermove", (e) => this.move(e));
      c.addEventListener("pointerup", () => this.release());
      c.addEventListener("pointercancel", () => { this.drag = null; this.draw(); });
      c.addEventListener("dblclick", () => this.show(0, this.count));
      c.addEventListener("wheel", (e) => {
        if (!e.ctrlKey && !e.shiftKey) return;
        e.preventDefault();
        if (e.shiftKey) this.pan(Math.sign(e.deltaY || e.deltaX) * 0.15);
        else this.zoom(e.deltaY > 0 ? 1.3 : 1 / 1.3, this.indexAt(e.offsetX));
      }, { passive: false });
      c.addEventListener("keydown", (e) => {
        const keys = {
          ArrowLeft: () => this.pan(-0.25), ArrowRight: () => this.pan(0.25),
          "+": () => this.zoom(0.5), "-": () => this.zoom(2), Home: () => this.show(0, this.count),
        };
        if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
      });
      window.addEventListener("beforeprint", () => { this.scale = 3; this.draw(); });
      window.addEventListener("afterprint", () => { this.scale = window.devicePixelRatio || 1; this.draw(); });
    }

    act(order) {
      if (order.days) this.showDays(Number(order.days));
      else if (order.pan) this.pan(Number(order.pan));
      else if (order.zoom) this.zoom(Number(order.zoom));
      else this.show(0, this.count);
    }

    width() { return this.canvas.clientWidth - MARGIN.left - MARGIN.right; }

    indexAt(x) {
      const share = (x - MARGIN.left) / this.width();
      return this.view[0] + Math.min(1, Math.max(0, share)) * (this.view[1] - this.view[0]);
    }

    show(from, to) {
      const least = Math.min(this.count, 8);
      const span = Math.min(this.count, Math.max(least, to - from));
      const first = Math.min(Math.max(0, from), this.count - span);
      this.view = [first, first + span];
      this.draw();
    }

    showDays(days) {
      const middle = (this.view[0] + this.view[1]) / 2;
      const span = (days * 86400000) / this.step;
      this.show(middle - span / 2, middle + span / 2);
    }

    pan(share) {
      const by = share * (this.view[1] - this.view[0]);
      this.show(this.view[0] + by, this.view[1] + by);
    }

    zoom(factor, around) {
      const [from, to] = this.view;
      const centre = around === undefined ? (from + to) / 2 : around;
      this.show(centre - (centre - from) * factor, centre + (to - centre) * factor);
    }

    move(e) {
      if (this.drag) { this.drag[1] = e.offsetX; this.draw(); }
      const i = Math.min(this.count - 1, Math.floor(this.indexAt(e.offsetX)));
      const values = this.series.map((s) => {
        const code = s.codes[i];
        return s.name + " " + (code === MISSING ? "missing" : (s.low + s.scale * code).toFixed(3) + " MW");
      });
      this.output.textContent = clock(this.start + i * this.step, this.step < 60000) + " UTC: " + values.join(", ");
    }

    release() {
      const drag = this.drag;
      this.drag = null;
      if (drag && Math.abs(drag[1] - drag[0]) > 4) {
        const ends = drag.map((x) => this.indexAt(x)).sort((a, b) => a - b);
        this.show(ends[0], ends[1]);
      } else {
        this.draw();
      }
    }

    draw() {
      const { clientWidth: w, clientHeight: h } = this.canvas;
      if (!w || !h) return;
      this.canvas.width = Math.round(w * this.scale);
      this.canvas.height = Math.round(h * this.scale);
      const g = this.canvas.getContext("2d");
      g.scale(this.scale, this.scale);
      g.fillStyle = "#ffffff";
      g.fillRect(0, 0, w, h);
      g.font = "12px system-ui, sans-serif";
      this.drawAxes(g, w, h);
      g.save();
      g.beginPath();
      g.rect(MARGIN.left, MARGIN.top, this.width(), h - MARGIN.top - MARGIN.bottom);
      g.clip();
      for (const s of this.series) if (s.shown) this.drawSeries(g, s, h);
      if (this.drag) {
        g.fillStyle = "rgba(0, 114, 178, 0.15)";
        g.fillRect(Math.min(...this.drag), MARGIN.top, Math.abs(this.drag[1] - this.drag[0]), h);
      }
      g.restore();
    }

    y(value, h) { return h - MARGIN.bottom - (value / this.ceiling()) * (h - MARGIN.top - MARGIN.bottom); }

    ceiling() {
      const step = niceStep(this.top, 6);
      return step * Math.ceil((this.top * 1.02) / step);
    }

    drawAxes(g, w, h) {
      g.strokeStyle = "#dddddd";
      g.fillStyle = "#1b1f23";
      g.textAlign = "right";
      g.textBaseline = "middle";
      const rise = niceStep(this.top, 6);
      for (let value = 0; value <= this.ceiling() + 1e-9; value += rise) {
        const y = this.y(value, h);
        g.beginPath(); g.moveTo(MARGIN.left, y); g.lineTo(w - MARGIN.right, y); g.stroke();
        g.fillText(String(Number(value.toPrecision(6))), MARGIN.left - 5, y);
      }
      g.save();
      g.translate(11, h / 2); g.rotate(-Math.PI / 2); g.textAlign = "center";
      g.fillText("power [MW]", 0, 0);
      g.restore();
      this.drawTimeTicks(g, h);
    }

    drawTimeTicks(g, h) {
      const from = this.start + this.view[0] * this.step;
      const to = this.start + this.view[1] * this.step;
      const most = Math.max(2, Math.floor(this.width() / 85));
      g.textAlign = "center";
      g.textBaseline = "top";
      for (const [at, text] of this.ticks(from, to, most)) {
        const x = MARGIN.left + ((at - from) / (to - from)) * this.width();
        g.beginPath(); g.moveTo(x, MARGIN.top); g.lineTo(x, h - MARGIN.bottom + 4); g.stroke();
        const half = g.measureText(text).width / 2;
        g.fillText(text, Math.min(x, this.canvas.clientWidth - half - 2), h - MARGIN.bottom + 6);
      }
      g.textAlign = "left";
      const fine = this.step < 60000;
      g.fillText(clock(from, fine) + " to " + clock(to, fine) + " UTC", MARGIN.left, h - 13);
    }

    ticks(from, to, most) {
      const step = TICKS_S.find((s) => (to - from) / (1000 * s) <= most);
      const marks = [];
      if (step === undefined) {
        const every = [1, 2, 3, 6, 12, 60].find((m) => (to - from) / (m * 30.4 * 86400000) <= most) || 120;
        const first = new Date(from);
        for (let m = first.getUTCMonth() + 12 * first.getUTCFullYear(); ; m++) {
          const at = Date.UTC(Math.floor(m / 12), m % 12, 1);
          if (at > to) return marks;
          if (at >= from && m % every === 0) marks.push([at, MONTHS[m % 12] + " " + Math.floor(m / 12)]);
        }
      }
      for (let at = Math.ceil(from / (1000 * step)) * 1000 * step; at <= to; at += 1000 * step) {
        const t = new Date(at);
        const day = t.getUTCDate() + " " + MONTHS[t.getUTCMonth()];
        const time = two(t.getUTCHours()) + ":" + two(t.getUTCMinutes());
        marks.push([at, step >= 86400 ? day : step >= 60 ? time : time + ":" + two(t.getUTCSeconds())]);
      }
      return marks;
    }

    drawSeries(g, s, h) {
      const [from, to] = this.view;
      const columns = Math.max(1, Math.round(this.width() * this.scale));
      g.strokeStyle = s.colour;
      g.lineWidth = s.width;
      g.beginPath();
      if ((to - from) / columns <= 2) this.traceSamples(g, s, h);
      else this.traceColumns(g, s, h, columns);
      g.stroke();
      g.lineWidth = 1;
    }

    traceSamples(g, s, h) {
      const [from, to] = this.view;
      const perSample = this.width() / (to - from);
      let joined = false;
      for (let i = Math.max(0, Math.floor(from)); i < Math.min(this.count, Math.ceil(to) + 1); i++) {
        if (s.codes[i] === MISSING) { joined = false; continue; }
        const x = MARGIN.left + (i - from) * perSample;
        const y = this.y(s.low + s.scale * s.codes[i], h);
        if (joined) g.lineTo(x, y); else g.moveTo(x, y);
        g.lineTo(x + perSample, y);
        joined = true;
      }
    }

    traceColumns(g, s, h, columns) {
      const [from, to] = this.view;
      let joined = false;
      for (let c = 0; c < columns; c++) {
        const first = Math.floor(from + ((to - from) * c) / columns);
        const last = Math.min(this.count, Math.ceil(from + ((to - from) * (c + 1)) / columns));
        let low = MISSING, high = -1;
        for (let i = first; i < last; i++) {
          const code = s.codes[i];
          if (code === MISSING) continue;
          if (code < low) low = code;
          if (code > high) high = code;
        }
        if (high < 0) { joined = false; continue; }
        const x = MARGIN.left + c / this.scale;
        const y = this.y(s.low + s.scale * low, h);
        if (joined) g.lineTo(x, y); else g.moveTo(x, y);
        g.lineTo(x, this.y(s.low + s.scale * high, h));
        joined = true;
      }
    }
  }

  document.querySelectorAll(".zoom").forEach((box) => new Zoom(box));
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details.printed").forEach((d) => { d.open = true; });
  });
  document.documentElement.dataset.ready = "true";
})();
